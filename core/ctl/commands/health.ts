import { defined, done, pathOf, type Arguments, type Command, type Operand, type Option } from '../command.js';
import { fieldLines, table, valueText, type Row } from '../table.js';
import { UPSTREAM } from './blocks.js';

const BASE = '/v1/hc';
const TYPE: Operand = { name: 'TYPE', about: 'http, stcp or sudp' };

const TIMING: readonly Option[] = [
  { name: 'interval', value: 'TIME', field: 'interval', about: 'time between checks' },
  { name: 'jitter', value: 'TIME', field: 'jitter', about: 'random time that is added to it at most' },
  { name: 'timeout', value: 'TIME', field: 'timeout', about: 'time limit of a check' },
  { name: 'passes', value: 'N', field: 'passes', about: 'checks in a row that an unhealthy server has to pass' },
  { name: 'fails', value: 'N', field: 'fails', about: 'checks in a row that a server has to fail' },
  { name: 'visit-interval', value: 'TIME', field: 'visit_interval', about: 'no checks for so long after a request succeeded' },
  { name: 'port', value: 'N', field: 'port', about: 'port that is checked' },
];
const HTTP: readonly Option[] = [
  { name: 'uri', value: 'URI', about: 'http: what is asked for' },
  { name: 'host', value: 'NAME', about: 'http: Host of the request' },
  { name: 'status', value: 'RULE', about: 'http: statuses that pass, such as "200-299 301"' },
  { name: 'header', value: 'RULE', repeated: true, about: 'http: a field of the response, such as "X-Kind = api"' },
  { name: 'body', value: 'RULE', about: 'http: what the body matches, such as "~ ok"' },
];
const STREAM: readonly Option[] = [
  { name: 'send', value: 'TEXT', about: 'stcp, sudp: what is sent' },
  { name: 'expect', value: 'TEXT', about: 'stcp, sudp: what the response begins with, or "~ REGEX"' },
];

const pathTo = (args: Arguments): string => BASE + pathOf(args.operand('TYPE'), args.operand('UPSTREAM'));

const COLUMNS = table([
  { title: 'UPSTREAM', field: 'upstream' },
  { title: 'TYPE', field: 'type' },
  { title: 'INTERVAL', field: 'interval' },
  { title: 'TIMEOUT', field: 'timeout' },
  { title: 'PASSES', field: 'passes' },
  { title: 'FAILS', field: 'fails' },
  { title: 'PORT', field: 'port' },
  {
    title: 'CHECKS',
    text: (row) => valueText((row['http'] as Row | undefined)?.['uri'] ?? (row['stream'] as Row | undefined)?.['expect']),
  },
]);

export const HEALTH: readonly Command[] = [
  {
    words: 'health list',
    about: 'list the health checks',
    call: () => ({ method: 'GET', path: BASE }),
    show: COLUMNS,
  },
  {
    words: 'health get',
    about: 'show one health check',
    operands: [TYPE, UPSTREAM],
    call: (args) => ({ method: 'GET', path: pathTo(args) }),
    show: fieldLines,
  },
  {
    words: 'health set',
    about: 'add or replace a health check',
    operands: [TYPE, UPSTREAM],
    options: [...TIMING, ...HTTP, ...STREAM],
    writes: true,
    notes: ['Options that are left out have their defaults.'],
    call: (args) => ({ method: 'PUT', path: pathTo(args), body: { ...args.fields(), ...partsOf(args) } }),
    show: COLUMNS,
  },
  {
    words: 'health remove',
    about: 'remove a health check; its servers get requests again',
    operands: [TYPE, UPSTREAM],
    writes: true,
    call: (args) => ({ method: 'DELETE', path: pathTo(args) }),
    show: done,
  },
];

function partsOf(args: Arguments): Row {
  const header = args.all('header');
  const texts = (options: readonly Option[]): Row =>
    defined(Object.fromEntries(options.flatMap(({ name, repeated }) => (repeated ? [] : [[name, args.optional(name)]]))));
  const http = { ...texts(HTTP), ...(header.length > 0 && { header }) };
  const stream = texts(STREAM);
  return { ...(Object.keys(http).length > 0 && { http }), ...(Object.keys(stream).length > 0 && { stream }) };
}
