import { argType } from '../../core/module/arg-type.js';
import { choice, fieldName, flag, number, optional, rest, template, time } from '../../core/module/args.js';
import type { HttpRequest, LocationScope, Template } from '../../core/module/http.js';
import { compilePattern, namedGroups } from '../../core/module/pattern.js';
import { ArgError, directive, type ArgType } from '../../core/module/spec.js';
import { bufferingDirectives } from './buffering.js';
import { upstreamTlsDirectives } from '../../core/module/tls/upstream-directives.js';

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

/** Fields of a response that can be told to have no effect. */
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

/** A text with variables, or a regular expression behind `~` (or `~*`: in any case). */
function redirectWord(): ArgType<Template | RegExp> {
  const text = template();
  return argType({
    kind: 'template',
    form: 'default | off | redirect',
    parse(value, context) {
      if (!value.startsWith('~')) return text.parse(value, context);
      const caseless = value.startsWith('~*');
      return compilePattern(value.slice(caseless ? 2 : 1), caseless);
    },
  });
}

/** In any case, as nginx reads it. */
function ignorable(): ArgType<string> {
  const names = choice(...IGNORABLE);
  return {
    ...names,
    parse: (value, context) => names.parse(IGNORABLE.find((name) => name.toLowerCase() === value.toLowerCase()) ?? value, context),
  };
}

/** Where requests are passed to. Of one with variables the beginning may be known with the request only. */
function url(): ArgType<Template> {
  const text = template('URL');
  return {
    ...text,
    parse(value, context) {
      const parsed = text.parse(value, context);
      if (parsed.constant === undefined) return parsed;
      const [prefix] = /^https?:\/\//i.exec(value) ?? [];
      if (prefix === undefined) throw new ArgError('invalid URL prefix', 'the URL begins with http:// or https://');
      const rest = value.slice(prefix.length);
      if (/^(?:[:/?]|$)/.test(rest)) throw new ArgError(`no host in upstream "${rest}"`);
      // A fragment does not end the host, as it would in a browser.
      const [, port] = /^[^/?:#]*(:?)[^/?#]*#/.exec(rest) ?? [];
      if (port !== undefined) throw new ArgError(`${port === '' ? 'host not found' : 'invalid port'} in upstream "${rest}"`);
      return parsed;
    },
  };
}

export const directives = {
  proxy_pass: directive({
    in: ['location', 'if in location', 'limit_except'],
    args: url(),
    inherit: 'none',
    dynamic: true,
    doc: 'Passes requests to this address or upstream.',
  }),
  proxy_method: directive({
    in: ANYWHERE,
    args: template('method'),
    doc: "HTTP method of requests to the upstream, instead of the client's.",
  }),
  proxy_http_version: directive({
    in: ANYWHERE,
    args: choice('1.0', '1.1'),
    default: '1.1',
    doc: 'HTTP version of requests to the upstream.',
  }),
  proxy_set_header: directive({
    in: ANYWHERE,
    args: { name: fieldName(), value: template('value') },
    many: true,
    doc: 'Sets a request field; an empty value removes it.',
  }),
  proxy_pass_request_headers: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Passes the request header of the client on.' }),
  proxy_pass_request_body: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Passes the request body of the client on.' }),
  proxy_request_buffering: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Reads the whole request body before it connects to the upstream: into memory up to client_body_buffer_size, otherwise into a file.',
  }),
  proxy_hide_header: directive({ in: ANYWHERE, args: fieldName(), many: true, doc: 'Hides a response field from the client.' }),
  proxy_pass_header: directive({
    in: ANYWHERE,
    args: fieldName(),
    many: true,
    doc: 'Passes a response field that is hidden by default.',
  }),
  proxy_ignore_headers: directive({
    in: ANYWHERE,
    args: { names: rest(ignorable()) },
    doc: 'Disables the processing of these response fields.',
  }),
  proxy_redirect: directive({
    in: ANYWHERE,
    args: { from: redirectWord(), to: optional(template('replacement')) },
    many: true,
    defines: ({ args }) => args.flatMap(({ text }) => namedGroups(text)),
    doc: 'Rewrites the response fields Location and Refresh.',
  }),
  proxy_connect_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Timeout for connecting to the upstream.' }),
  proxy_send_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout between two successive writes to the upstream.',
  }),
  proxy_read_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '60s',
    doc: 'Timeout between two successive reads from the upstream.',
  }),
  proxy_next_upstream: directive({
    in: ANYWHERE,
    args: { cases: rest(choice(...NEXT)) },
    default: 'error timeout',
    doc: 'Cases in which a request is passed to the next member.',
  }),
  proxy_next_upstream_tries: directive({
    in: ANYWHERE,
    args: number(),
    default: '0',
    doc: 'Maximum number of members tried for a request; 0 is no limit.',
  }),
  proxy_next_upstream_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '0',
    doc: 'Time limit for passing a request to the next member; 0 is no limit.',
  }),
  proxy_force_ranges: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Serves byte ranges of responses regardless of their Accept-Ranges.',
  }),
  proxy_intercept_errors: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Applies error_page to responses of the upstream.',
  }),
  proxy_ignore_client_abort: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Keeps the upstream request running after the client disconnects.',
  }),
  ...upstreamTlsDirectives<HttpRequest>(ANYWHERE),
  ...bufferingDirectives,
};

/** What these directives say for one location. */
export type ProxyScope = LocationScope<typeof directives>;
