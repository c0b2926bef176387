import { choice, number, param, rest, text, time, word } from '../../core/contract/args.js';
import { argType } from '../../core/contract/arg-type.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';

/** Shortest time between two checks of a member. Milliseconds. */
const LEAST_INTERVAL = 10;

/** A time that is not zero. */
function period(least: number): ArgType<number, string | number> {
  const any = time();
  return {
    ...any,
    parse(value, context) {
      const ms = any.parse(value, context);
      if (ms >= least) return ms;
      throw new ArgError(`value "${value}" must be equal to or greater than ${least}ms`);
    },
  };
}

/** Text of which each byte can be written as `\xHH`: in the API control characters are. */
function bytes(): ArgType<string, string> {
  return argType<string>({
    kind: 'text',
    form: 'text',
    parse: (value) => value,
    json: {
      schema: { type: 'string', maxLength: 1000 },
      show: (value) => value,
      text: (value) => value.replaceAll(/[\0-\x1f\x7f]/g, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`),
    },
  });
}

const VERSIONS: readonly string[] = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'];

/** TLS versions, as ssl_protocols has them. */
function versions(): ArgType<string, string> {
  return argType<string>({
    kind: 'text',
    form: 'protocols',
    parse(value) {
      const unknown = value.split(' ').find((version) => !VERSIONS.includes(version));
      if (unknown === undefined) return value;
      throw new ArgError(`invalid value "${value}"`, `one or more of: ${VERSIONS.join(', ')}`);
    },
  });
}

/** Beginning of inline PEM, in the place of a file name. */
export const INLINE = 'data:';

/** Certificates: a file under the folder of the configuration file, or themselves. */
function certificates(): ArgType<string, string> {
  return argType<string>({
    kind: 'path',
    form: 'file',
    parse: (value, context) => (value === '' || value.startsWith(INLINE) ? value : context.path(value, 'conf')),
    json: { schema: { type: 'string', maxLength: 1024 * 1024 }, show: (value) => value, text: (value) => value },
  });
}

/** When members are checked, and what becomes of them. */
const timing = {
  interval: param('interval', period(LEAST_INTERVAL), 5000),
  jitter: param('jitter', time(), 0),
  timeout: param('timeout', period(1), 5000),
  passes: param('passes', number({ min: 1, max: 1000 }), 1),
  fails: param('fails', number({ min: 1, max: 1000 }), 1),
  visit_interval: param('visit_interval', time(), 0),
  port: param('port', number({ min: 1, max: 65535 })),
};
const timingDocs = {
  interval: 'Time from one check of a server to the next.',
  jitter: 'Each interval is longer by a random time up to this.',
  timeout: 'Time in which a check has to be over; then it has failed.',
  passes: 'Checks in a row that an unhealthy server has to pass.',
  fails: 'Checks in a row that a server has to fail to be unhealthy.',
  visit_interval: 'No check is made of a server that has served a request without failure within this time; 0: checks are always made.',
  port: 'Port that is checked. Default: that of the server.',
};

const rule = { rule: rest(text('rule')) };

/** Rules for an HTTP response. */
const rulesIn = <C extends string>(context: C) => ({
  status: directive({
    in: [context],
    args: rule,
    dynamic: true,
    doc: 'Statuses that pass: 200, 200-299 301, ! 500-599. Default: 200-399.',
  }),
  header: directive({
    in: [context],
    args: rule,
    many: true,
    dynamic: true,
    doc: 'Header field that the response has or has not: Name, ! Name, Name = value, Name != value, Name ~ regex, Name !~ regex.',
  }),
  body: directive({
    in: [context],
    args: rule,
    dynamic: true,
    doc: 'Regular expression that the first 256k of the body match: ~ regex, !~ regex.',
  }),
});

export const httpRequest = {
  uri: directive({ in: ['health_check_http'], args: text('uri'), default: '/', dynamic: true, doc: 'URI of the request.' }),
  host: directive({
    in: ['health_check_http'],
    args: text('name'),
    dynamic: true,
    doc: 'Host field of the request. Default: name of the upstream.',
  }),
};

/** A directive has a spec for each block that it may be in. */
const sslIn = <C extends string>(context: C) =>
  directive({
    in: [context],
    args: {
      server_name: param('server_name', text('name'), ''),
      verify: word('verify'),
      trusted_certificate: param('trusted_certificate', certificates(), ''),
      protocols: param('protocols', versions(), 'TLSv1.2 TLSv1.3'),
    },
    dynamic: true,
    doc: 'Checks over TLS.',
    argDocs: {
      server_name:
        'Name that is sent by SNI and that the certificate has to be for. Default: host of the request, or name of the upstream.',
      verify: 'Verifies the certificate of the server.',
      trusted_certificate: 'Trusted CA certificates in PEM: a file, or data:PEM.',
      protocols: 'TLS versions: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3.',
    },
  });

const exchangeIn = <C extends string>(context: C) => ({
  send: directive({
    in: [context],
    args: { data: bytes() },
    dynamic: true,
    doc: String.raw`Data to send, with \xHH for any byte.`,
  }),
  expect: directive({
    in: [context],
    args: { data: rest(bytes()) },
    dynamic: true,
    doc: String.raw`Expected response: data that begins with a text, with \xHH for any byte, or data that matches ~ regex.`,
  }),
});

export const ssl = sslIn('health_check_http');
export const exchange = exchangeIn('health_check_tcp');

/** A line of any of the checks, without its block. */
export const checkLine = directive({ in: ['upstream', 'stream upstream'], args: timing, argDocs: timingDocs, dynamic: true });

/** The checks of an upstream, in the upstream itself. */
export const checkDirectives = {
  health_check_http: directive({
    ...checkLine,
    block: { context: 'health_check_http', directives: { ...httpRequest, ...rulesIn('health_check_http'), ssl } },
    doc: 'Checks the servers of the upstream with HTTP requests.',
  }),
  health_check_tcp: directive({
    ...checkLine,
    block: { context: 'health_check_tcp', directives: { ...exchange, ssl: sslIn('health_check_tcp') } },
    doc: 'Checks the servers of the upstream with TCP connections.',
  }),
  health_check_udp: directive({
    ...checkLine,
    block: { context: 'health_check_udp', directives: exchangeIn('health_check_udp') },
    doc: 'Checks the servers of the upstream with UDP datagrams: without "expect" a server passes unless it is unreachable.',
  }),
  health_check: directive({
    in: ['upstream', 'stream upstream'],
    args: { mandatory: word('mandatory'), persistent: word('persistent') },
    dynamic: true,
    doc: 'Says which servers get requests before they were checked.',
    argDocs: {
      mandatory: 'A new server gets requests only after it has passed all checks of the upstream.',
      persistent: 'Servers keep their state when the upstream moves to another zone.',
    },
  }),
};

/** Checks as NGINX Plus has them, in a location that passes to the upstream. */
export const locationDirectives = {
  location_check: directive({
    name: 'health_check',
    in: ['location'],
    inherit: 'none',
    args: {
      interval: timing.interval,
      jitter: timing.jitter,
      passes: timing.passes,
      fails: timing.fails,
      uri: param('uri', text('uri')),
      match: param('match', text('name'), ''),
      port: timing.port,
      mandatory: word('mandatory'),
      persistent: word('persistent'),
      type: param('type', choice('grpc')),
      grpc_service: param('grpc_service', text('name')),
      grpc_status: param('grpc_status', number({ max: 16 })),
    },
    doc: 'Checks the servers of the upstream that proxy_pass of the location names, with HTTP requests; or those of grpc_pass, with calls of the gRPC Health Checking Protocol.',
    argDocs: {
      interval: timingDocs.interval,
      jitter: timingDocs.jitter,
      passes: timingDocs.passes,
      fails: timingDocs.fails,
      uri: 'URI of the request.',
      match: 'Name of the match block that a response has to fit. Without it statuses 200 to 399 pass.',
      port: timingDocs.port,
      mandatory: 'A new server gets requests only after it has passed all checks of the upstream.',
      persistent: 'Servers keep their state when the upstream moves to another zone.',
      type: 'Calls grpc.health.v1.Health/Check. Not with uri and match.',
      grpc_service: 'Name of the service that the call asks for. Without it the server as a whole is meant.',
      grpc_status:
        'Status of the call that passes, such as 12 of servers without the protocol. Without it, and with 0, the response must be SERVING.',
    },
  }),
  match: directive({
    in: ['http'],
    args: { name: text('name') },
    many: true,
    identity: ({ args }) => args[0]?.text ?? '',
    block: { context: 'match', directives: rulesIn('match') },
    doc: 'Rules for the responses to health checks.',
  }),
};
