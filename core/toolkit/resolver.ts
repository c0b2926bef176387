/** `resolver` and `resolver_timeout`, which every traffic engine and `upstream` have. */
import { AddressError, parseAddress } from '../contract/address.js';
import { argType } from '../contract/arg-type.js';
import { choice, param, rest, text, time } from '../contract/args.js';
import { ArgError, directive, type ArgType, type ConfValue, type ContextName } from '../contract/spec.js';

const ADDRESSES = 'the address of a name server: ip, ip:port, [v6], [v6]:port';
const DNS_PORT = 53;
/** Milliseconds of nxdomain_grace. */
const DEFAULT_GRACE = 30_000;

/** Counters of the lookups of a `status_zone`, whose labels are `zone` and `kind` (`name`, `srv`), or `zone` and `code`. */
export const RESOLVER_REQUESTS = 'srv_resolver_requests_total';
export const RESOLVER_RESPONSES = 'srv_resolver_responses_total';

/** Where a name server listens. */
export interface NameServer {
  /** An IP address, or a name that the system looks up when the server is needed. */
  readonly address: string;
  readonly port: number;
}

const nameServer = argType<NameServer>({
  kind: 'text',
  form: 'address',
  parse(value) {
    try {
      const parsed = parseAddress(value, DNS_PORT);
      if ('name' in parsed) return { address: parsed.name, port: parsed.port };
      if ('host' in parsed.address) return { address: parsed.address.host, port: parsed.address.port };
    } catch (error) {
      if (error instanceof AddressError) throw new ArgError(`${error.reason} in resolver "${value}"`, ADDRESSES);
      throw error;
    }
    throw new ArgError(`invalid host in resolver "${value}"`, ADDRESSES);
  },
});

/** A parameter whose error quotes it whole. */
function quoted<T, J>(type: ArgType<T, J>): ArgType<T, J> {
  return {
    ...type,
    parse(value, context, written = value) {
      try {
        return type.parse(value, context, written);
      } catch (error) {
        throw error instanceof ArgError ? new ArgError(`invalid parameter: ${written}`, error.hint) : error;
      }
    },
  };
}

const resolverArgs = {
  servers: rest(nameServer, 0),
  valid: param('valid', quoted(time({ calendar: true }))),
  ipv4: param('ipv4', quoted(choice('on', 'off')), 'on'),
  ipv6: param('ipv6', quoted(choice('on', 'off')), 'on'),
  status_zone: param('status_zone', text('zone')),
  nxdomain_grace: param('nxdomain_grace', time(), DEFAULT_GRACE),
};

/** @param contexts where the engine has them */
export function resolverDirectives<const C extends readonly ContextName[]>(contexts: C) {
  return {
    resolver: directive({
      in: contexts,
      args: resolverArgs,
      doc: 'Name servers that look up the names of upstream servers. There is none by default, and names in variables cannot be looked up.',
      argDocs: {
        valid: 'Time for which records are cached. Default: their TTL.',
        ipv4: 'Looks up IPv4 addresses.',
        ipv6: 'Looks up IPv6 addresses.',
        status_zone: 'Name of the figures of its lookups: `resolvers` in the statistics and in the API of NGINX Plus.',
        nxdomain_grace: 'Time for which members keep their addresses when their name is said not to exist any more.',
      },
    }),
    resolver_timeout: directive({ in: contexts, args: time(), default: '30s', doc: 'Timeout of looking up a name.' }),
  };
}

/** The typed value of `resolver`. */
export type ResolverLine = NonNullable<ConfValue<ReturnType<typeof resolverDirectives>['resolver']>>;

/** Values of a `resolver` line. */
export interface ResolverSettings {
  readonly servers: readonly NameServer[];
  readonly ipv4: boolean;
  readonly ipv6: boolean;
  /** Seconds; undefined: the TTL counts. */
  readonly valid: number | undefined;
  readonly statusZone: string | undefined;
  /** Milliseconds. */
  readonly nxdomainGrace: number;
}

/** @throws ArgError for what makes no sense together */
export function resolverSettings(line: ResolverLine): ResolverSettings {
  const ipv4 = line.ipv4 === 'on';
  const ipv6 = line.ipv6 === 'on';
  if (line.servers.length === 0) throw new ArgError('no name servers defined', ADDRESSES);
  if (!ipv4 && !ipv6) throw new ArgError('"ipv4" and "ipv6" cannot both be "off"');
  // As in nginx, 0 is none.
  const valid = line.valid === 0 || line.valid === undefined ? undefined : line.valid / 1000;
  return { servers: line.servers, ipv4, ipv6, valid, statusZone: line.status_zone, nxdomainGrace: line.nxdomain_grace };
}
