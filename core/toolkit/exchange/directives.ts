/** Directives that all modules have that pass requests on to members: times, repetition, fields, buffers. */
import { choice, fieldName, flag, number, optional, rest, size, template, time } from '../../contract/args.js';
import { directive, type ArgType, type Conf } from '../../contract/spec.js';
import { bufferingDirectives } from './buffering.js';
import { prefixed } from './prefix.js';

const ANYWHERE = ['http', 'server', 'location'] as const;
const NEXT = [
  'error',
  'timeout',
  'invalid_header',
  'http_500',
  'http_502',
  'http_503',
  'http_504',
  'http_403',
  'http_404',
  'http_429',
  'non_idempotent',
  'off',
] as const;

/** Fields of a response that can be without effect. */
const IGNORABLE = [
  'X-Accel-Redirect',
  'X-Accel-Expires',
  'X-Accel-Limit-Rate',
  'X-Accel-Buffering',
  'X-Accel-Charset',
  'Expires',
  'Cache-Control',
  'Set-Cookie',
  'Vary',
] as const;

/** In any case, as nginx reads it. */
function ignorable(): ArgType<string> {
  const names = choice(...IGNORABLE);
  return {
    ...names,
    parse: (value, context) => names.parse(IGNORABLE.find((name) => name.toLowerCase() === value.toLowerCase()) ?? value, context),
  };
}

function directivesOf(prefix: string) {
  return {
    bind: directive({
      in: ANYWHERE,
      args: { address: template('address | off'), transparent: optional(choice('transparent')) },
      doc: 'Local address of connections to the upstream; it may contain variables. "transparent" is not supported: Node.js cannot set IP_TRANSPARENT.',
    }),
    connect_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Timeout for connecting to the upstream.' }),
    send_timeout: directive({
      in: ANYWHERE,
      args: time(),
      default: '60s',
      doc: 'Timeout between two successive writes to the upstream.',
    }),
    read_timeout: directive({
      in: ANYWHERE,
      args: time(),
      default: '60s',
      doc: 'Timeout between two successive reads from the upstream.',
    }),
    socket_keepalive: directive({
      in: ANYWHERE,
      args: flag(),
      default: 'off',
      doc: 'Sets SO_KEEPALIVE for connections to the upstream: the system finds out when a server is gone without a word.',
    }),
    send_lowat: directive({ in: ANYWHERE, args: size(), default: '0', doc: 'Accepted: without effect on Linux, as in nginx.' }),
    next_upstream: directive({
      in: ANYWHERE,
      args: { cases: rest(choice(...NEXT)) },
      default: 'error timeout',
      doc: 'Cases in which a request is passed to the next member.',
    }),
    next_upstream_tries: directive({
      in: ANYWHERE,
      args: number(),
      default: '0',
      doc: 'Maximum number of members tried for a request; 0: no limit.',
    }),
    next_upstream_timeout: directive({
      in: ANYWHERE,
      args: time(),
      default: '0',
      doc: 'Time limit for passing a request to the next member; 0: no limit.',
    }),
    pass_request_headers: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Passes the request header of the client on.' }),
    pass_request_body: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Passes the request body of the client on.' }),
    request_buffering: directive({
      in: ANYWHERE,
      args: flag(),
      default: 'on',
      doc: 'Reads the whole request body before it connects to the upstream: into memory up to client_body_buffer_size, otherwise into a file.',
    }),
    hide_header: directive({ in: ANYWHERE, args: fieldName(), many: true, doc: 'Hides a response field from the client.' }),
    pass_header: directive({
      in: ANYWHERE,
      args: fieldName(),
      many: true,
      doc: 'Passes a response field that is hidden by default.',
    }),
    ignore_headers: directive({
      in: ANYWHERE,
      args: { names: rest(ignorable()) },
      many: true,
      doc: 'Disables the processing of these response fields.',
    }),
    force_ranges: directive({
      in: ANYWHERE,
      args: flag(),
      default: 'off',
      doc: 'Serves byte ranges of responses regardless of their Accept-Ranges.',
    }),
    intercept_errors: directive({
      in: ANYWHERE,
      args: flag(),
      default: 'off',
      doc: 'Applies error_page to responses of the upstream.',
    }),
    ignore_client_abort: directive({
      in: ANYWHERE,
      args: flag(),
      default: 'off',
      doc: 'Keeps the upstream request running after the client disconnects.',
    }),
    ...bufferingDirectives(prefix),
  };
}

/** Values of the directives by their names without the prefix. */
export type ExchangeConf = Conf<ReturnType<typeof directivesOf>>;

/** The directives under the names of a module. @param prefix `proxy`: proxy_bind, proxy_connect_timeout … */
export function exchangeDirectives<const P extends string>(prefix: P) {
  return prefixed(prefix, directivesOf(prefix));
}

/** Names of the directives without the prefix. */
export const EXCHANGE_NAMES: readonly string[] = Object.keys(directivesOf(''));
