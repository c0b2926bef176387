import { readFileSync } from 'node:fs';
import type { UpstreamScope } from '../../core/contract/balancer.js';
import { certificatesIn } from '../../core/contract/certificates.js';
import type { SocketTls } from '../../core/contract/sockets.js';
import { ArgError, type Conf } from '../../core/contract/spec.js';
import type { TlsVersion } from '../../core/contract/tls-context.js';
import type { CheckSettings, HealthSettings } from './check-settings.js';
import type { ConnectionMeans, ConnectionOptions } from './connection.js';
import { INLINE, type checkDirectives, type locationDirectives } from './directives.js';
import type { LocatedCheck } from './checkers.js';
import { grpcProber } from './grpc-probe.js';
import type { Prober } from './probe.js';
import { httpProber, type ResponseRules } from './http-probe.js';
import { parseBody, parseBytes, parseExpectation, parseHeader, parseStatus } from './rules.js';
import { tcpProber, type DataExchange } from './tcp-probe.js';
import { udpProber } from './udp-probe.js';

type CheckScope = UpstreamScope<typeof checkDirectives>;
type CheckConf = Conf<typeof checkDirectives>;
type Of<K extends keyof CheckConf> = NonNullable<CheckConf[K]>;
type Ssl = Of<'health_check_tcp'>['block']['ssl'];
type LocationConf = Conf<typeof locationDirectives>;
type RuleLines = Pick<Of<'health_check_http'>['block'], 'status' | 'header' | 'body'>;

/** Statuses that pass where nothing else is said. */
const DEFAULT_STATUS = '200-399';

/** The checks that the block of an upstream says. @param means of connections @throws ConfigError */
export function compileChecks(scope: CheckScope, means: ConnectionMeans): HealthSettings {
  const { health_check_http: http, health_check_tcp: tcp, health_check_udp: udp, health_check: gate } = scope.conf;
  const checks = [http && httpCheck(http, scope, means), tcp && tcpCheck(tcp, scope, means), udp && udpCheck(udp, scope, means)];
  return {
    checks: checks.filter((check) => check !== undefined),
    isMandatory: gate?.mandatory ?? false,
    isPersistent: gate?.persistent ?? false,
  };
}

function httpCheck(line: Of<'health_check_http'>, scope: CheckScope, means: ConnectionMeans): CheckSettings {
  const { uri, host = scope.name, ssl } = line.block;
  const parts = parsed(scope, 'health_check_http', () => {
    assertUri(uri);
    assertHost(host);
    return { uri, host, rules: compileRules(line.block), tls: tlsOf(ssl, host), means };
  });
  return { name: 'http', label: 'http', timing: line, probe: httpProber(parts) };
}

function tcpCheck(line: Of<'health_check_tcp'>, scope: CheckScope, means: ConnectionMeans): CheckSettings {
  const tls = parsed(scope, 'health_check_tcp', () => tlsOf(line.block.ssl, scope.name));
  return {
    name: 'tcp',
    label: 'tcp',
    timing: line,
    probe: tcpProber({ ...exchangeOf(line.block, scope, 'health_check_tcp'), tls, means }),
  };
}

function udpCheck(line: Of<'health_check_udp'>, scope: CheckScope, { sockets }: ConnectionMeans): CheckSettings {
  return { name: 'udp', label: 'udp', timing: line, probe: udpProber({ ...exchangeOf(line.block, scope, 'health_check_udp'), sockets }) };
}

/** Check of an upstream that a location requests. Milliseconds. */
const LOCATION_TIMEOUT = 5000;

/** @param match its `match` block, if it names one @param upstream name of it @throws ArgError */
export function locatedCheck(
  name: string,
  line: NonNullable<LocationConf['location_check']>,
  match: LocationConf['match'][number] | undefined,
  upstream: { readonly name: string; readonly isSecure: boolean },
  means: ConnectionMeans,
): LocatedCheck {
  const tls = upstream.isSecure ? tlsOf(PLAIN_TLS, upstream.name, line.type === 'grpc' ? 'h2' : 'http/1.1') : undefined;
  const options = { host: upstream.name, tls, means };
  const probe = line.type === 'grpc' ? grpcProbe(line, options) : httpProbe(line, match, options);
  const timing = { ...line, timeout: LOCATION_TIMEOUT, visit_interval: 0 };
  return { check: { name, label: line.match, timing, probe }, isMandatory: line.mandatory, isPersistent: line.persistent };
}

type LocationLine = NonNullable<LocationConf['location_check']>;
type ProbeOptions = ConnectionOptions & { readonly host: string };

/** @throws ArgError */
function grpcProbe({ uri, match, grpc_service: service = '', grpc_status: grpcStatus = 0 }: LocationLine, options: ProbeOptions): Prober {
  if (uri !== undefined || match !== '') throw new ArgError('"type=grpc" is not compatible with "uri" and "match"');
  return grpcProber({ ...options, service, grpcStatus });
}

/** @throws ArgError */
function httpProbe(line: LocationLine, match: LocationConf['match'][number] | undefined, options: ProbeOptions): Prober {
  const { uri = '/', grpc_service: service, grpc_status: status } = line;
  if (service !== undefined || status !== undefined) throw new ArgError('"grpc_service" and "grpc_status" need "type=grpc"');
  assertUri(uri);
  return httpProber({ ...options, uri, rules: compileRules(match?.block ?? { status: undefined, header: [], body: undefined }) });
}

const PLAIN_TLS = { server_name: '', verify: false, trusted_certificate: '', protocols: 'TLSv1.2 TLSv1.3' };

/** Rules for responses. @throws ArgError */
export function compileRules({ status, header, body }: RuleLines): ResponseRules {
  return {
    status: parseStatus(status?.rule.join(' ') ?? DEFAULT_STATUS),
    headers: header.map(({ rule }) => parseHeader(rule.join(' '))),
    body: body && parseBody(body.rule.join(' ')),
  };
}

function exchangeOf({ send, expect }: Of<'health_check_udp'>['block'], scope: CheckScope, place: string): DataExchange {
  return parsed(scope, place, () => ({
    send: send && parseBytes(send.data),
    expect: expect && parseExpectation(expect.data.join(' ')),
  }));
}

/** @throws ArgError */
export function assertUri(uri: string): void {
  assertRequestText('uri', uri);
  if (!uri.startsWith('/')) throw new ArgError(`invalid uri "${uri}"`, 'it must begin with "/"');
}

/** @throws ArgError */
export function assertHost(host: string): void {
  assertRequestText('host', host);
}

/** Text that cannot end its line of the request. @throws ArgError */
function assertRequestText(what: string, text: string): void {
  if (/[\0-\x20\x7f]/.test(text)) throw new ArgError(`invalid ${what} "${text}"`, 'no blanks and control characters');
}

/** @param name where the configuration has none @param alpn protocol to offer @throws ArgError */
function tlsOf(ssl: Ssl, name: string, alpn: 'http/1.1' | 'h2' = 'http/1.1'): SocketTls | undefined {
  if (ssl === undefined) return undefined;
  const { server_name: serverName, verify, trusted_certificate: trusted, protocols } = ssl;
  if (verify && trusted === '') throw new ArgError('no "trusted_certificate" for "verify"');
  const versions = protocols.split(' ').toSorted() as TlsVersion[];
  return {
    settings: {
      context: { ca: trusted === '' ? [] : trustedIn(trusted), minVersion: versions[0], maxVersion: versions.at(-1) },
      sendsName: true,
      verifies: verify,
      verifyDepth: Infinity,
      // A handshake that is resumed shows less.
      reusesSessions: false,
      alpn: [alpn],
    },
    name: serverName === '' ? name : serverName,
  };
}

/** @throws ArgError */
function trustedIn(trusted: string): string {
  const isInline = trusted.startsWith(INLINE);
  const what = isInline ? 'certificates' : `certificate "${trusted}"`;
  try {
    const pem = isInline ? trusted.slice(INLINE.length) : readFileSync(trusted, 'latin1');
    if (certificatesIn(pem).length > 0) return pem;
  } catch (error) {
    throw new ArgError(`cannot load trusted ${what}: ${(error as Error).message}`);
  }
  throw new ArgError(`cannot load trusted ${what}: no certificate in PEM`);
}

/** @param place the directive that errors name */
function parsed<T>(scope: CheckScope, place: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof ArgError) return scope.fail(error.message, place, error.hint);
    throw error;
  }
}
