import { argType } from '../../core/module/arg-type.js';
import { choice, fieldName, flag, number, optional, rest, template, time } from '../../core/module/args.js';
import type { LocationScope, Template } from '../../core/module/http.js';
import { compilePattern, namedGroups } from '../../core/module/pattern.js';
import { ArgError, directive, type ArgType } from '../../core/module/spec.js';
import { bufferingDirectives } from './buffering.js';
import { tlsDirectives } from './tls.js';

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
    doc: 'Passes requests to this address or upstream.',
  }),
  proxy_method: directive({ in: ANYWHERE, args: template('method'), doc: "Method sent instead of the client's." }),
  proxy_http_version: directive({
    in: ANYWHERE,
    args: choice('1.0', '1.1'),
    default: '1.1',
    doc: 'HTTP version spoken with the upstream.',
  }),
  proxy_set_header: directive({
    in: ANYWHERE,
    args: { name: fieldName(), value: template('value') },
    many: true,
    doc: 'Sets a request field; an empty value removes it.',
  }),
  proxy_pass_request_headers: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: "Whether the client's fields are passed on." }),
  proxy_pass_request_body: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: "Whether the client's body is passed on." }),
  proxy_request_buffering: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Whether a body is read whole before the upstream is asked: up to client_body_buffer_size into memory, else into a file.',
  }),
  proxy_hide_header: directive({ in: ANYWHERE, args: fieldName(), many: true, doc: 'Response field that is not passed to the client.' }),
  proxy_pass_header: directive({
    in: ANYWHERE,
    args: fieldName(),
    many: true,
    doc: 'Response field that is passed to the client although it is hidden by default.',
  }),
  proxy_ignore_headers: directive({
    in: ANYWHERE,
    args: { names: rest(ignorable()) },
    doc: 'Response fields of the upstream that have no effect on how its response is processed.',
  }),
  proxy_redirect: directive({
    in: ANYWHERE,
    args: { from: redirectWord(), to: optional(template('replacement')) },
    many: true,
    defines: ({ args }) => args.flatMap(({ text }) => namedGroups(text)),
    doc: 'Rewrites Location and Refresh of the answer.',
  }),
  proxy_connect_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Time for a connection to be made.' }),
  proxy_send_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Longest pause between two writes to the upstream.' }),
  proxy_read_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Longest pause between two reads from the upstream.' }),
  proxy_next_upstream: directive({
    in: ANYWHERE,
    args: { cases: rest(choice(...NEXT)) },
    default: 'error timeout',
    doc: 'When the next member is asked.',
  }),
  proxy_next_upstream_tries: directive({ in: ANYWHERE, args: number(), default: '0', doc: 'Most members asked for one request; 0: all.' }),
  proxy_next_upstream_timeout: directive({
    in: ANYWHERE,
    args: time(),
    default: '0',
    doc: 'Time in which a next member may be asked; 0: any.',
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
    doc: 'Whether error_page applies to answers of the upstream.',
  }),
  proxy_ignore_client_abort: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Whether the upstream goes on when the client is gone.',
  }),
  ...tlsDirectives,
  ...bufferingDirectives,
};

/** What these directives say for one location. */
export type ProxyScope = LocationScope<typeof directives>;
