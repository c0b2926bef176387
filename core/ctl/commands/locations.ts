import { defined, done, type Arguments, type Command, type Operand, type Option } from '../command.js';
import { table, valueText } from '../table.js';
import { ADDRESS, BODY_OPTION, FORCE, listCall, LISTED, NAME, origin, place, shortBody, text, type Read } from './blocks.js';

const LOCATION: Operand = { name: 'LOCATION', about: 'as the configuration names it: /img, "= /x", "~ \\.php$", "^~ /a"' };
const LOCATION_OPTIONS: readonly Option[] = [
  NAME,
  BODY_OPTION,
  { name: 'proxy-pass', value: 'URL', about: 'where its requests are passed to' },
];

/** Rule and name of a location: `= /x`. */
function locationOf(args: Arguments, read: Read = () => ''): Record<string, string> {
  const [, rule = '', name = ''] = /^(?:(=|~\*|~|\^~)\s+)?([^]*)$/.exec(args.operand('LOCATION')) ?? [];
  return defined({
    location_rule: rule,
    location_name: name,
    location_body: text(args.optional('body'), read),
    proxy_pass: args.optional('proxy-pass'),
  });
}

export const LOCATIONS: readonly Command[] = [
  {
    words: 'locations list',
    about: 'list the locations of a server, or of all',
    operands: [LISTED],
    options: [NAME],
    call: (args) => listCall('/v1/dyn_loc', args),
    show: table([
      { title: 'ADDRESS', field: 'addr_port' },
      { title: 'SERVER', field: 'server_name' },
      { title: 'LOCATION', text: (row) => `${valueText(row['location_rule'])} ${valueText(row['location_name'])}`.trim() },
      { title: 'FROM', text: origin },
      { title: 'PROXY_PASS', field: 'proxy_pass' },
      { title: 'BODY', text: shortBody('location_body') },
    ]),
  },
  {
    words: 'locations add',
    about: 'add a location to a server',
    operands: [ADDRESS, LOCATION],
    options: LOCATION_OPTIONS,
    writes: true,
    call: (args, read) => ({
      method: 'POST',
      path: '/v1/dyn_loc',
      body: { type: 'add', ...place(args), locations: [locationOf(args, read)] },
    }),
    show: done,
  },
  {
    words: 'locations set',
    about: 'replace what the options name in a location',
    operands: [ADDRESS, LOCATION],
    options: [...LOCATION_OPTIONS, FORCE],
    writes: true,
    call: (args, read) => ({ method: 'PATCH', path: '/v1/dyn_loc', body: { ...place(args), ...locationOf(args, read) } }),
    show: done,
  },
  {
    words: 'locations remove',
    about: 'remove a location',
    operands: [ADDRESS, LOCATION],
    options: [NAME, FORCE],
    writes: true,
    call: (args) => ({ method: 'PUT', path: '/v1/dyn_loc', body: { type: 'del', ...place(args), ...locationOf(args) } }),
    show: done,
  },
];
