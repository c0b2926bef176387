/**
 * The directives of an `upstream` block that say who its members are and how connections to them are kept. Both traffic engines have
 * them, so they are declared here; the module of each engine names them in its manifest, the core reads upstreams by them.
 */
import { number, optional, param, size, text, time, word } from '../contract/args.js';
import { address, AddressError, canonicalAddress, parseAddress } from '../contract/address.js';
import { DirectiveCodec } from '../contract/directive-codec.js';
import { resolverDirectives } from './resolver.js';
import { directive, type Conf, type ConfValue } from '../contract/spec.js';

const WHOLE = 2 ** 31 - 1;
const HTTP_PORT = 80;
const ROUTE = { max: 32, description: 'text of up to 32 characters without control characters' };
const SERVICE = { max: 253, description: 'the name of a service, without control characters' };

const SOURCE = { max: 2048, description: 'a source of servers, without control characters' };

/** @param defaultPort of an address without one; undefined: it needs one */
function serverDirective<const C extends 'upstream' | 'stream upstream'>(context: C, defaultPort: number | undefined) {
  return directive({
    in: [context],
    many: true,
    keyed: true,
    dynamic: true,
    // With other parameters it is the same member, and so it is in another form of its address.
    identity: ({ args }) => addressIdentity(args[0]?.text ?? '', defaultPort),
    args: {
      // Where a port is needed, that of a service is in its records: the port is asked for with the line as a whole.
      server: address(HTTP_PORT),
      weight: param('weight', number({ min: 1, max: 65535 }), 1),
      max_conns: param('max_conns', number({ max: WHOLE }), 0),
      max_fails: param('max_fails', number({ max: WHOLE }), 1),
      fail_timeout: param('fail_timeout', time({ calendar: true }), 10_000),
      slow_start: param('slow_start', time(), 0),
      route: param('route', text('string', ROUTE), ''),
      service: param('service', text('name', SERVICE), ''),
      members_from: param('members_from', text('source', SOURCE), ''),
      resolve: word('resolve'),
      backup: word('backup'),
      down: word('down'),
      drain: word('drain'),
    },
    doc: 'A server of the upstream.',
    argDocs: {
      weight: 'Share of the requests, relative to the other servers.',
      max_conns: 'Connections at the same time, over all workers; 0: no limit.',
      max_fails: 'Failed attempts within fail_timeout that make the server unavailable; 0: it never is.',
      fail_timeout: 'Period in which failed attempts are counted, and how long the server is unavailable after them.',
      slow_start:
        'Time in which the weight of the server grows from nothing: when it is added, works again after failures, or is no longer down. Not with hash, ip_hash and random.',
      route: 'Name of the server for sticky sessions.',
      service:
        'Name of the service whose SRV records have the addresses, ports and weights of the servers; records of a lower priority are backup servers. Requires resolve, and a name without a port.',
      resolve:
        'Follows the addresses of the name: looks it up when the time of its records is over, through the resolver of the upstream. Requires a zone. Without it the name is looked up at start and at reload.',
      members_from:
        'Servers that are found at run time take the place of this one: those of a JSON file, `file:/path`, or URL, with srv_http_members_from_module; other modules may bring other sources. The name of the server is theirs in logs and in the API. Requires a zone.',
      backup: 'Gets requests only when the other servers are unavailable.',
      down: 'Gets no requests.',
      drain: 'Gets only the requests of sessions that it has already.',
    },
  });
}

export const upstreamDirectives = {
  server: serverDirective('upstream', HTTP_PORT),
  zone: directive({
    in: ['upstream', 'stream upstream'],
    args: { name: text('name'), size: optional(size()) },
    doc: 'Keeps the run-time state of the upstream in memory shared by all workers. Without a size, uses the zone of another upstream.',
  }),
  keepalive: directive({
    in: ['upstream'],
    args: { connections: number({ max: WHOLE }), local: word('local') },
    default: '32 local',
    doc: 'Maximum number of idle connections to servers in each worker; with "local", for each location separately.',
  }),
  keepalive_requests: directive({
    in: ['upstream'],
    args: number({ max: WHOLE }),
    default: '1000',
    doc: 'Maximum number of requests over one connection; 0: one.',
  }),
  keepalive_time: directive({
    in: ['upstream'],
    args: time(),
    default: '1h',
    doc: 'Maximum age of a connection, after which it is closed.',
  }),
  keepalive_timeout: directive({ in: ['upstream'], args: time(), default: '60s', doc: 'Time after which an idle connection is closed.' }),
  ...resolverDirectives(['upstream', 'stream upstream']),
};

/** Of HTTP alone. */
export const queueDirectives = {
  queue: directive({
    in: ['upstream'],
    args: { number: number({ min: 1, max: WHOLE }), timeout: param('timeout', time(), 60_000) },
    doc: 'Lets requests wait when no server can be chosen for them; without it, or when the queue is full, they get a 502.',
    argDocs: {
      number: 'Requests that wait at the same time, over all workers if the upstream has a zone.',
      timeout: 'Time after which a request that waits gets a 502.',
    },
  }),
};

/** All that may be in an `upstream` block of the core. */
export const upstreamBlockDirectives = { ...upstreamDirectives, ...queueDirectives };

/** `server` in an upstream of `stream`, where nothing is without a port. */
export const streamServer = serverDirective('stream upstream', undefined);

/** The typed `upstream` block. */
export type UpstreamConf = Conf<typeof upstreamBlockDirectives>;
/** One typed `server` line. Times in milliseconds. */
export type ServerLine = ConfValue<typeof upstreamDirectives.server>[number];
/** Reads and writes `server` lines. */
export const serverLines = new DirectiveCodec('server', upstreamDirectives.server);

/** Of what is not an address, the text: it is rejected later. */
function addressIdentity(text: string, defaultPort: number | undefined): string {
  try {
    return canonicalAddress(parseAddress(text, defaultPort));
  } catch (error) {
    if (error instanceof AddressError) return text;
    throw error;
  }
}
