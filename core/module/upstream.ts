/**
 * The directives of an `upstream` block that say who its members are and how connections to them are kept. Both traffic engines have
 * them, so they are declared here; the module of each engine names them in its manifest, the core reads groups by them.
 */
import { number, optional, param, size, text, time, word } from './args.js';
import { AddressError, canonicalAddress, parseAddress } from './address.js';
import { directive, type ArgType, type Conf, type ConfValue } from './spec.js';

const WHOLE = 2 ** 31 - 1;
const HTTP_PORT = 80;

/** A parameter that is kept for a version to come. */
function withoutEffect<T>(type: ArgType<T>, why: string): ArgType<T> {
  return {
    ...type,
    parse(value, context) {
      context.warn?.(`"${type.key}" has no effect in this version: ${why}`, 'once');
      return type.parse(value, context);
    },
  };
}

export const upstreamDirectives = {
  server: directive({
    in: ['upstream'],
    many: true,
    keyed: true,
    // With other parameters it is the same member, and so it is in another form of its address.
    identity: ({ args }) => addressIdentity(args[0]?.text ?? ''),
    args: {
      address: text('address'),
      weight: param('weight', number({ min: 1, max: 65535 }), 1),
      max_conns: param('max_conns', number({ max: WHOLE }), 0),
      max_fails: param('max_fails', number({ max: WHOLE }), 1),
      fail_timeout: param('fail_timeout', time({ calendar: true }), 10_000),
      slow_start: withoutEffect(param('slow_start', time(), 0), 'a member has its full weight at once'),
      route: withoutEffect(param('route', text('string'), ''), 'there are no sticky sessions'),
      service: withoutEffect(param('service', text('name'), ''), 'SRV records are not looked up'),
      resolve: withoutEffect(word('resolve'), 'names are looked up at start and at reload'),
      backup: word('backup'),
      down: word('down'),
      drain: word('drain'),
    },
    doc: 'A member of the group. slow_start, route, service and resolve are kept, and have no effect yet.',
  }),
  zone: directive({
    in: ['upstream'],
    args: { name: text('name'), size: optional(size()) },
    doc: 'Keeps the run-time state of the group in memory that all workers share. Without a size: the zone of another group.',
  }),
  keepalive: directive({
    in: ['upstream'],
    args: { connections: number({ max: WHOLE }), local: word('local') },
    default: '32 local',
    doc: 'Idle connections to members that each worker keeps; with "local" only for the location they were made for.',
  }),
  keepalive_requests: directive({
    in: ['upstream'],
    args: number({ max: WHOLE }),
    default: '1000',
    doc: 'Requests over one connection; 0: one.',
  }),
  keepalive_time: directive({ in: ['upstream'], args: time(), default: '1h', doc: 'Age at which a connection is not kept any more.' }),
  keepalive_timeout: directive({ in: ['upstream'], args: time(), default: '60s', doc: 'How long an idle connection is kept.' }),
};

/** The typed `upstream` block. */
export type UpstreamConf = Conf<typeof upstreamDirectives>;
/** One typed `server` line. Times in milliseconds. */
export type ServerLine = ConfValue<typeof upstreamDirectives.server>[number];

/** Of what is no address, the text: its refusal comes later. In `stream` nothing is without a port. */
function addressIdentity(text: string): string {
  try {
    return canonicalAddress(parseAddress(text, HTTP_PORT));
  } catch (error) {
    if (error instanceof AddressError) return text;
    throw error;
  }
}
