import { argType } from '../../core/contract/arg-type.js';
import { choice, fieldName, flag, optional, rest, size, template } from '../../core/contract/args.js';
import type { HttpRequest, LocationScope, Template } from '../../core/contract/http.js';
import { compilePattern, namedGroups } from '../../core/toolkit/pattern.js';
import { ArgError, directive, type ArgType } from '../../core/contract/spec.js';
import { exchangeDirectives } from '../../core/toolkit/exchange/directives.js';
import { storeDirectives } from '../../core/toolkit/exchange/response-store.js';
import { upstreamTlsDirectives } from '../../core/toolkit/tls/upstream-directives.js';

const ANYWHERE = ['http', 'server', 'location'] as const;

/** A text with variables, or a regular expression after `~` (or `~*`: in any case). */
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

/** Text or expression that the name or an attribute of a cookie is compared with: as {@link redirectWord}, in any case unless it is a path. */
function cookieWord(form: string, isPath = false): ArgType<Template | RegExp> {
  const word = redirectWord();
  return argType({
    kind: 'template',
    form,
    parse: (value, context) => word.parse(isPath ? value : value.replace(/^~\*?/, '~*'), context),
  });
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
    args: choice('1.0', '1.1', '2'),
    default: '1.1',
    doc: 'HTTP version of requests to the upstream. With 2 many requests share a connection: over TLS it is agreed on by ALPN, without TLS members have to know it.',
  }),
  proxy_set_header: directive({
    in: ANYWHERE,
    args: { name: fieldName(), value: template('value') },
    many: true,
    doc: 'Sets a request field; an empty value removes it.',
  }),
  proxy_pass_trailers: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'off',
    doc: 'Passes trailers on: those of responses, and those of requests to members with HTTP/1.1 or HTTP/2.',
  }),
  proxy_set_body: directive({
    in: ANYWHERE,
    args: template('value'),
    doc: 'Sends this text to the upstream as the body of every request, in place of that of the client.',
  }),
  proxy_redirect: directive({
    in: ANYWHERE,
    args: { from: redirectWord(), to: optional(template('replacement')) },
    many: true,
    defines: ({ args }) => args.flatMap(({ text }) => namedGroups(text)),
    doc: 'Rewrites the response fields Location and Refresh.',
  }),
  proxy_cookie_domain: directive({
    in: ANYWHERE,
    args: { from: cookieWord('off | domain'), to: optional(template('replacement')) },
    many: true,
    defines: ({ args }) => args.flatMap(({ text }) => namedGroups(text)),
    doc: 'Changes the attribute domain of cookies that the upstream sets.',
  }),
  proxy_cookie_flags: directive({
    in: ANYWHERE,
    args: { cookie: cookieWord('off | cookie'), flags: rest(template('flag'), 0) },
    many: true,
    doc: 'Sets flags of cookies that the upstream sets, or removes them: secure, httponly, samesite=strict, samesite=lax, samesite=none, nosecure, nohttponly, nosamesite.',
  }),
  proxy_cookie_path: directive({
    in: ANYWHERE,
    args: { from: cookieWord('off | path', true), to: optional(template('replacement')) },
    many: true,
    defines: ({ args }) => args.flatMap(({ text }) => namedGroups(text)),
    doc: 'Changes the attribute path of cookies that the upstream sets.',
  }),
  proxy_headers_hash_max_size: directive({ in: ANYWHERE, args: size(), doc: 'Accepted: tables grow as needed.' }),
  proxy_headers_hash_bucket_size: directive({ in: ANYWHERE, args: size(), doc: 'Accepted: tables grow as needed.' }),
  ...upstreamTlsDirectives<HttpRequest>(ANYWHERE),
  ...exchangeDirectives('proxy'),
  ...storeDirectives('proxy'),
};

/** Values of these directives in one location. */
export type ProxyScope = LocationScope<typeof directives>;
