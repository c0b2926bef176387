import { done, pathOf, type Arguments, type Command, type Operand, type Option } from '../command.js';
import { isStream, STREAM, UPSTREAM } from './blocks.js';
import { table, valueText, type Column, type Row } from '../table.js';

const base = (args: Arguments): string => `/v1/upstream_api/${isStream(args) ? 'stream' : 'http'}/upstreams`;
const MEMBER: Operand = { name: 'MEMBER', about: 'id or address of the member' };

const SETTINGS: readonly Option[] = [
  { name: 'weight', value: 'N', field: 'weight', about: 'weight, 1..65535' },
  { name: 'max-conns', value: 'N', field: 'max_conns', about: 'most connections at a time, 0: no limit' },
  { name: 'max-fails', value: 'N', field: 'max_fails', about: 'failures until it is left out, 0: never' },
  { name: 'fail-timeout', value: 'TIME', field: 'fail_timeout', about: 'time in which they count, and for which it is left out' },
  { name: 'slow-start', value: 'TIME', field: 'slow_start', about: 'time in which its weight grows' },
  { name: 'route', value: 'TEXT', field: 'route', about: 'route of sticky sessions' },
  { name: 'backup', field: 'backup', about: 'used when no other member is available' },
  { name: 'down', field: 'down', about: 'gets no requests' },
  { name: 'drain', field: 'drain', about: 'gets no new sessions' },
];
const SERVICE: Option = { name: 'service', value: 'NAME', field: 'service', about: 'name of the SRV record' };

const flagsOf = (row: Row): string => ['backup', 'down', 'drain'].filter((flag) => row[flag] === true).join(', ');

const COLUMNS: readonly Column[] = [
  { title: 'ID', field: 'id' },
  { title: 'SERVER', field: 'server' },
  { title: 'WEIGHT', field: 'weight' },
  { title: 'MAX_CONNS', field: 'max_conns' },
  { title: 'MAX_FAILS', field: 'max_fails' },
  { title: 'FAIL_TIMEOUT', field: 'fail_timeout' },
  { title: 'FLAGS', text: flagsOf },
  { title: 'NAME', field: 'host' },
];

const listPath = (args: Arguments): string => base(args) + pathOf(args.operand('UPSTREAM'), 'servers');
const memberPath = (args: Arguments): string => listPath(args) + pathOf(args.operand('MEMBER'));

export const MEMBERS: readonly Command[] = [
  {
    words: 'members list',
    about: 'list the members of an upstream',
    operands: [UPSTREAM],
    options: [STREAM],
    call: (args) => ({ method: 'GET', path: listPath(args) }),
    show: table(COLUMNS),
  },
  {
    words: 'members get',
    about: 'show one member',
    operands: [UPSTREAM, MEMBER],
    options: [STREAM],
    call: (args) => ({ method: 'GET', path: memberPath(args) }),
    show: table(COLUMNS),
  },
  {
    words: 'members add',
    about: 'add a member',
    operands: [UPSTREAM, { name: 'ADDRESS', about: 'ip:port, [v6]:port, name:port or unix:/path' }],
    options: [...SETTINGS, SERVICE, STREAM],
    writes: true,
    call: (args) => ({ method: 'POST', path: listPath(args), body: { server: args.operand('ADDRESS'), ...args.fields() } }),
    show: table(COLUMNS),
  },
  {
    words: 'members set',
    about: 'change settings of a member',
    operands: [UPSTREAM, MEMBER],
    options: [...SETTINGS, STREAM, { name: 'address', value: 'ADDRESS', field: 'server', about: 'another address' }],
    writes: true,
    notes: ['A flag is taken back with --down=false.'],
    call: (args) => ({ method: 'PATCH', path: memberPath(args), body: args.fields() }),
    show: table(COLUMNS),
  },
  {
    words: 'members remove',
    about: 'remove a member; its requests are finished',
    operands: [UPSTREAM, MEMBER],
    options: [STREAM],
    writes: true,
    call: (args) => ({ method: 'DELETE', path: memberPath(args) }),
    show: table(COLUMNS),
  },
  {
    words: 'members replace',
    about: 'replace all members by those of a file',
    operands: [
      UPSTREAM,
      { name: 'FILE', about: 'JSON array of members, as "members list --json" prints it; -: standard input', isFile: true },
    ],
    options: [STREAM],
    writes: true,
    call: (args, read) => ({ method: 'PUT', path: listPath(args), body: read(args.operand('FILE')) }),
    show: table(COLUMNS),
  },
];

/** Responses of a class. */
const responses =
  (status: string) =>
  ({ responses: counts }: Row): string =>
    valueText((counts as Row | undefined)?.[status]);

const PEERS = table([
  { title: 'ID', field: 'id' },
  { title: 'SERVER', field: 'server' },
  { title: 'STATE', field: 'state' },
  { title: 'ACTIVE', field: 'active' },
  { title: 'REQUESTS', text: ({ requests, connections }) => valueText(requests ?? connections) },
  { title: '2XX', text: responses('2xx') },
  { title: '4XX', text: responses('4xx') },
  { title: '5XX', text: responses('5xx') },
  { title: 'FAILS', field: 'fails' },
  { title: 'TIME_MS', field: 'response_time' },
]);

export const STATUS: readonly Command[] = [
  {
    words: 'upstreams status',
    about: 'show state and statistics of the members of an upstream',
    operands: [UPSTREAM],
    options: [STREAM],
    call: (args) => ({ method: 'GET', path: base(args) + pathOf(args.operand('UPSTREAM')) }),
    show: (response) => PEERS((response as { peers: readonly Row[] }).peers),
  },
  {
    words: 'upstreams reset',
    about: 'set the statistics of an upstream to zero',
    operands: [UPSTREAM],
    options: [STREAM],
    writes: true,
    call: (args) => ({ method: 'POST', path: base(args) + pathOf(args.operand('UPSTREAM'), 'reset') }),
    show: done,
  },
];
