import { choice, flag, number, requestRate, size } from '../../core/contract/args.js';
import { coreModule } from '../../core/contract/manifest.js';
import { argumentField, argumentText, listField, objectSchema } from '../../core/toolkit/setting-fields.js';
import { namedField, type NamedItem } from '../../core/toolkit/setting-named.js';
import type { FieldSet, Setting } from '../../core/contract/setting.js';
import type { Directive } from '../../core/contract/tree.js';

interface ConnectionLimit {
  readonly zone: string;
  readonly conn: number;
}
interface RequestLimit {
  readonly zone: string;
  readonly burst?: number;
  /** Requests of the burst that are not delayed: a number, or `nodelay` for all of them. */
  readonly delay?: number | string;
}
interface Rate extends NamedItem {
  readonly zone: string;
  readonly rate: string;
}

const ZONE = { type: 'string', minLength: 1, maxLength: 200, description: 'A zone that the configuration file declares.' };
const LEVELS = choice('info', 'notice', 'warn', 'error');
const STATUS = number({ min: 400, max: 599 });
const RATE = requestRate();

const connections = listField<ConnectionLimit>({
  field: 'limit_conns',
  doc: 'Limits of connections with a request in progress (`limit_conn`).',
  item: objectSchema({ zone: ZONE, conn: { type: 'integer', minimum: 1, maximum: 65_535 } }),
  directives: ['limit_conn'],
  show: ({ args: [zone, conn] }) => ({ zone: zone?.text ?? '', conn: Number(conn?.text) }),
  line: ({ zone, conn }, place, { pointer }) => ({ name: 'limit_conn', words: [zone, String(conn)], pointer: `${pointer}${place}` }),
});

const requests = listField<RequestLimit>({
  field: 'limit_reqs',
  doc: 'Limits of the rate of requests (`limit_req`).',
  item: objectSchema({
    zone: ZONE,
    'burst?': { type: 'integer', minimum: 1, maximum: 999_999_999 },
    'delay?': {
      type: ['integer', 'string'],
      minimum: 1,
      maximum: 999_999_999,
      pattern: String.raw`^(nodelay|[1-9]\d{0,8})$`,
      description: 'a number, or "nodelay"',
    },
  }),
  directives: ['limit_req'],
  show: shownRequestLimit,
  line({ zone, burst, delay }, place, { pointer }) {
    const words = [`zone=${zone}`];
    if (burst !== undefined) words.push(`burst=${burst}`);
    if (delay !== undefined) words.push(delay === 'nodelay' ? delay : `delay=${delay}`);
    return { name: 'limit_req', words, pointer: `${pointer}${place}` };
  },
});

function shownRequestLimit({ args }: Directive): RequestLimit {
  const value = (name: string): string | undefined => args.find(({ text }) => text.startsWith(`${name}=`))?.text.slice(name.length + 1);
  const [burst, delay] = [value('burst'), value('delay')];
  return {
    zone: value('zone') ?? '',
    ...(burst !== undefined && { burst: Number(burst) }),
    ...(delay !== undefined && { delay: Number(delay) }),
    ...(args.some(({ text }) => text === 'nodelay') && { delay: 'nodelay' }),
  };
}

/** The rate of a zone is a part of its declaration: it is the same for every location that is limited by the zone. */
const rates = namedField<Rate>({
  field: 'limit_rps',
  doc: 'Rates of the zones of `limit_req`.',
  noun: 'zone',
  directive: 'limit_req_zone',
  item: objectSchema({ zone: ZONE, rate: { ...RATE.json.schema, description: 'a rate: 10r/s, 30r/m' } }),
  comes: false,
  name: ({ zone }) => zone,
  show: ({ args }) => ({ zone: parameter(args, 'zone=').split(':', 1)[0] ?? '', rate: parameter(args, 'rate=') }),
  line({ rate }, known, place, call) {
    const text = argumentText(RATE, rate, `${place}/rate`, call);
    if (known === undefined || text === undefined) return undefined;
    const words = known.args.map((word) => (word.text.startsWith('rate=') ? `rate=${text}` : word.text));
    return { name: known.name, words, pointer: `${call.pointer}${place}` };
  },
});

function parameter(args: Directive['args'], name: string): string {
  return args.find(({ text }) => text.startsWith(name))?.text.slice(name.length) ?? '';
}

const limits: readonly FieldSet[] = [
  argumentField('limit_rate', size(), 'Bytes a second of a response; 0: no limit.'),
  argumentField('limit_rate_after', size(), 'Bytes of a response that the limit is not for.'),
  connections,
  argumentField('limit_conn_dry_run', flag(), 'Count and log, without limiting connections.'),
  argumentField('limit_conn_status', STATUS, 'Status of rejected requests.'),
  argumentField('limit_conn_log_level', LEVELS, 'Log level of rejected requests.'),
  requests,
  argumentField('limit_req_dry_run', flag(), 'Count and log, without limiting requests.'),
  argumentField('limit_req_status', STATUS, 'Status of rejected requests.'),
  argumentField('limit_req_log_level', LEVELS, 'Log level of rejected requests.'),
];

const setting: Setting = {
  key: 'http_dyn_limit',
  summary: 'limits of rates, requests and connections',
  engine: 'http',
  global: [rates],
  server: limits,
  location: limits,
};

/** Limits, changed at run time: `/v1/config/http_dyn_limit`. The directives are limit_rate, limit_req, limit_conn and their options. */
@coreModule({ name: 'srv_http_dyn_limit_module', api: '1.2', settings: [setting] })
export class DynLimit {}
