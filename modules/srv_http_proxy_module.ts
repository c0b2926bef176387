import { choice, flag, number, rest, size, template, text, time } from '../core/module/args.js';
import type { Handler, HttpHandlers, HttpRequest, LocationScope, Template } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { compilePattern } from '../core/module/pattern.js';
import { Exchanges, Log, type ExchangePlan, type NextUpstream, type UriPlan } from '../core/module/services.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';

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

/** A text with variables, or a regular expression behind `~` (or `~*`: in any case). */
function redirectWord(): ArgType<Template | RegExp> {
  const text = template();
  return {
    kind: 'template',
    form: 'default | off | redirect replacement',
    parse(value, context) {
      if (!value.startsWith('~')) return text.parse(value, context);
      const caseless = value.startsWith('~*');
      return compilePattern(value.slice(caseless ? 2 : 1), caseless);
    },
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
      if (/^(?:[:/?#]|$)/.test(rest)) throw new ArgError(`no host in upstream "${rest}"`);
      return parsed;
    },
  };
}

const directives = {
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
    args: { name: text('field'), value: template('value') },
    many: true,
    doc: 'Sets a request field; an empty value removes it.',
  }),
  proxy_pass_request_headers: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: "Whether the client's fields are passed on." }),
  proxy_pass_request_body: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: "Whether the client's body is passed on." }),
  proxy_request_buffering: directive({
    in: ANYWHERE,
    args: flag(),
    default: 'on',
    doc: 'Whether a body is collected before the upstream is asked, up to client_body_buffer_size; a longer one is streamed, and sent once.',
  }),
  proxy_hide_header: directive({ in: ANYWHERE, args: text('field'), many: true, doc: 'A field of the answer that is not passed on.' }),
  proxy_pass_header: directive({
    in: ANYWHERE,
    args: text('field'),
    many: true,
    doc: 'A field of the answer that is passed on although it usually is not.',
  }),
  proxy_redirect: directive({
    in: ANYWHERE,
    args: { words: rest(redirectWord()) },
    many: true,
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
  proxy_buffering: directive({ in: ANYWHERE, args: flag(), default: 'on', doc: 'Accepted: answers flow with back-pressure.' }),
  proxy_buffer_size: directive({ in: ANYWHERE, args: size(), doc: 'Accepted; has no effect.' }),
  proxy_buffers: directive({ in: ANYWHERE, args: { count: number({ min: 2 }), size: size() }, doc: 'Accepted; has no effect.' }),
  proxy_busy_buffers_size: directive({ in: ANYWHERE, args: size(), doc: 'Accepted; has no effect.' }),
};

/** Not passed on unless proxy_pass_header says so: the engine sends its own, or they are orders to the proxy. */
const HIDDEN = [
  'date',
  'server',
  'x-pad',
  'x-accel-expires',
  'x-accel-redirect',
  'x-accel-limit-rate',
  'x-accel-buffering',
  'x-accel-charset',
];

type Scheme = 'http' | 'https';

interface Target {
  /** Undefined: known with the request only. */
  readonly scheme: Scheme | undefined;
  readonly url: Template;
  /** Host and port as written: `$proxy_host`. */
  readonly host: Template;
  readonly uri: UriPlan;
  /** URL and replacement of `proxy_redirect default`. */
  readonly redirect: { readonly from: string; readonly to: string } | undefined;
}

/** Passes requests to upstream members (ngx_http_proxy_module). Choice, connections and retries are the core's. */
@httpModule({ name: 'srv_http_proxy_module', api: 1, directives, needs: ['srv_http_upstream_module'] })
export class Proxy {
  /** `$proxy_host` by location. */
  readonly #targets = new WeakMap<Directive, Target>();

  constructor(
    private readonly exchanges: Exchanges,
    private readonly log: Log,
  ) {}

  readonly variables = {
    proxy_host: (request: HttpRequest): string | undefined => this.#target(request)?.host.of(request),
    proxy_port: (request: HttpRequest): string | undefined => {
      const target = this.#target(request);
      return (
        target && (/:(\d+)$/.exec(target.host.of(request))?.[1] ?? String(defaultPort(target.scheme ?? schemeOf(target.url.of(request)))))
      );
    },
    proxy_add_x_forwarded_for: (request: HttpRequest): string => {
      const before = request.header('x-forwarded-for');
      return before === undefined ? request.connection.remoteAddress : `${before}, ${request.connection.remoteAddress}`;
    },
  };

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    const url = scope.own('proxy_pass') ? scope.conf.proxy_pass : undefined;
    if (url === undefined) return undefined;
    const target = parseTarget(url, scope);
    if (scope.directive !== undefined) this.#targets.set(scope.directive, target);
    const plain = this.exchanges.compile(planOf(scope, target, target.scheme ?? 'http'));
    return {
      content: target.scheme === undefined ? this.#choice(url, plain, this.exchanges.compile(planOf(scope, target, 'https'))) : plain,
    };
  }

  /** Whether TLS is spoken is known with the request only. */
  #choice(url: Template, plain: Handler, secure: Handler): Handler {
    return (request) => {
      const text = url.of(request);
      switch (schemeOf(text)) {
        case 'http':
          return plain(request);
        case 'https':
          return secure(request);
        case undefined:
          this.log.write('error', `invalid URL prefix in "${text}"`, request);
          return 500;
      }
    };
  }

  #target(request: HttpRequest): Target | undefined {
    const { directive: location } = request.scope;
    return location && this.#targets.get(location);
  }
}

function schemeOf(url: string): Scheme | undefined {
  const [, scheme] = /^(https?):\/\//i.exec(url) ?? [];
  return scheme === undefined ? undefined : scheme.length > 4 ? 'https' : 'http';
}

function defaultPort(scheme: Scheme | undefined): number {
  return scheme === 'https' ? 443 : 80;
}

function planOf(scope: LocationScope<typeof directives>, target: Target, scheme: Scheme): ExchangePlan {
  const { conf } = scope;
  const fields = requestFields(scope, target);
  const passed = new Set(conf.proxy_pass_header.map((name) => name.toLowerCase()));
  const hidden = [...HIDDEN.filter((name) => !passed.has(name)), ...conf.proxy_hide_header.map((name) => name.toLowerCase())];
  return {
    target: target.host,
    scheme,
    defaultPort: defaultPort(scheme),
    method: conf.proxy_method,
    uri: target.uri,
    replaced: fields.names,
    passFields: conf.proxy_pass_request_headers,
    fields: fields.text,
    connectTimeout: conf.proxy_connect_timeout,
    sendTimeout: conf.proxy_send_timeout,
    readTimeout: conf.proxy_read_timeout,
    next: nextUpstream(scope),
    version: conf.proxy_http_version,
    hidden: new Set(hidden),
    rewriteLocation: rewriter(scope, target),
    interceptErrors: conf.proxy_intercept_errors,
    ignoreClientAbort: conf.proxy_ignore_client_abort,
    requestBuffering: conf.proxy_request_buffering,
    passBody: conf.proxy_pass_request_body,
    scope: scope.directive ?? scope,
    fail: (message, hint) => scope.fail(message, 'proxy_pass', hint),
  };
}

/** Takes the URL of proxy_pass apart. With a variable in it the host may be anything, and a path stands for the whole request target. */
function parseTarget(url: Template, scope: LocationScope<typeof directives>): Target {
  const written = scope.directive === undefined ? '' : argumentOf(scope.directive, 'proxy_pass');
  const scheme = schemeOf(written);
  if (url.constant === undefined) return { url, scheme, ...variableTarget(url), redirect: undefined };
  const [, host = '', path = ''] = /^https?:\/\/(unix:[^:]+:?|[^/?#]+)(.*)$/is.exec(written) ?? [];
  const location = locationName(scope.directive);
  if (path !== '' && location === undefined) {
    return scope.fail(
      '"proxy_pass" cannot have URI part in location given by regular expression, or inside named location, or inside "if" statement, or inside "limit_except" block',
      'proxy_pass',
    );
  }
  const uri: UriPlan =
    path === '' ? { kind: 'same' } : { kind: 'replace', length: location?.length ?? 0, by: path.startsWith('/') ? path : `/${path}` };
  const redirect = path === '' ? { from: `${url.constant}/`, to: '/' } : { from: url.constant, to: location ?? '/' };
  return { url, scheme, host: constant(host), uri, redirect };
}

/** `http://$backend`, `http://$host$request_uri`: host and path are found in the finished text; without a path the request's own stands. */
function variableTarget(url: Template): { host: Template; uri: UriPlan } {
  const part = (pattern: RegExp) => ({
    constant: undefined,
    of: (request: HttpRequest): string => pattern.exec(url.of(request))?.[1] ?? '',
  });
  const host = part(/^https?:\/\/(unix:[^:]+|[^/?#]+)/i);
  const text = part(/^https?:\/\/(?:unix:[^:]+:?|[^/?#]+)(.*)$/is);
  return { host, uri: { kind: 'template', text } };
}

const constant = (value: string): Template => ({ constant: value, of: () => value });

function argumentOf(block: Directive, name: string): string {
  for (const child of block.block?.named(name) ?? []) return child.args[0]?.text ?? '';
  return '';
}

/** The path a prefix or exact location matched; undefined where it is not a fixed one. */
function locationName(location: Directive | undefined): string | undefined {
  if (location?.name !== 'location') return undefined;
  const words = location.args.map((word) => word.text).join('');
  const path = words.replace(/^(\^~|=)/, '');
  return path.startsWith('~') || path.startsWith('@') ? undefined : path;
}

/** Fields that say where a request ends: the engine makes them from the body that it really sends. */
const FRAMING = new Set(['content-length', 'transfer-encoding']);

/** The lines of proxy_set_header. Neighbouring constant ones are one string; nginx's own Host comes first unless it is replaced. */
function requestFields(
  { conf }: LocationScope<typeof directives>,
  target: Target,
): { names: ReadonlySet<string>; text: (request: HttpRequest) => string } {
  const names = new Set(['host', ...conf.proxy_set_header.map((line) => line.name.toLowerCase())]);
  const pieces: (string | { readonly name: string; readonly value: Template })[] = [];
  const add = (name: string, value: Template): void => {
    if (value.constant === undefined) pieces.push({ name, value });
    else if (value.constant !== '') {
      const line = `${name}: ${value.constant}\r\n`;
      const last = pieces.at(-1);
      if (typeof last === 'string') pieces[pieces.length - 1] = last + line;
      else pieces.push(line);
    }
  };
  if (!conf.proxy_set_header.some((line) => line.name.toLowerCase() === 'host'))
    add('Host', target.host.constant?.startsWith('unix:') === true ? constant('localhost') : target.host);
  for (const { name, value } of conf.proxy_set_header) if (!FRAMING.has(name.toLowerCase())) add(name, value);
  if (conf.proxy_http_version === '1.0' && !names.has('connection')) add('Connection', constant('close'));
  const [only] = pieces;
  if (pieces.length === 1 && typeof only === 'string') return { names, text: () => only };
  return { names, text: (request) => joined(pieces, request) };
}

function joined(pieces: readonly (string | { readonly name: string; readonly value: Template })[], request: HttpRequest): string {
  let text = '';
  for (const piece of pieces) {
    if (typeof piece === 'string') text += piece;
    else {
      const value = piece.value.of(request);
      if (value !== '') text += `${piece.name}: ${inOneLine(value)}\r\n`;
    }
  }
  return text;
}

/** A value made of what a client sent must not start a field, or a request, of its own. */
function inOneLine(value: string): string {
  return /[\r\n\0]/.test(value) ? value.replace(/[\r\n\0]/g, ' ') : value;
}

function nextUpstream({ conf }: LocationScope<typeof directives>): NextUpstream {
  const { cases } = conf.proxy_next_upstream;
  const statuses = cases.filter((name) => name.startsWith('http_')).map((name) => Number(name.slice(5)));
  const off = cases.includes('off');
  return {
    error: !off && cases.includes('error'),
    timeout: !off && cases.includes('timeout'),
    invalidHeader: !off && cases.includes('invalid_header'),
    nonIdempotent: cases.includes('non_idempotent'),
    statuses: new Set(off ? [] : statuses),
    tries: conf.proxy_next_upstream_tries,
    timeoutMs: conf.proxy_next_upstream_timeout,
  };
}

/** Gives the new text of a Location that it fits. */
type RedirectRule = (location: string, request: HttpRequest) => string | undefined;

function rewriter(scope: LocationScope<typeof directives>, { redirect }: Target): ExchangePlan['rewriteLocation'] {
  const rules: RedirectRule[] = [];
  const lines = scope.conf.proxy_redirect.length === 0 ? [undefined] : scope.conf.proxy_redirect;
  for (const line of lines) {
    const [first, second] = line?.words ?? [];
    if (first !== undefined && second !== undefined) rules.push(redirectRule(first, second));
    else if (isWord(first, 'off')) return undefined;
    else if (first !== undefined && !isWord(first, 'default'))
      scope.fail('invalid parameter of "proxy_redirect"', 'proxy_redirect', 'default, off, or what to replace and by what');
    else if (redirect !== undefined) rules.push(prefixRule(constant(redirect.from), constant(redirect.to)));
    else if (line !== undefined)
      scope.fail('"proxy_redirect default" cannot be used with "proxy_pass" directive with variables', 'proxy_redirect');
  }
  if (rules.length === 0) return undefined;
  return (location, request) => {
    for (const rule of rules) {
      const rewritten = rule(location, request);
      if (rewritten !== undefined) return rewritten;
    }
    return undefined;
  };
}

function isWord(word: Template | RegExp | undefined, text: string): boolean {
  return word !== undefined && 'constant' in word && word.constant === text;
}

function redirectRule(from: Template | RegExp, to: Template | RegExp): RedirectRule {
  if (to instanceof RegExp) throw new ArgError('invalid replacement of "proxy_redirect"');
  return from instanceof RegExp ? patternRule(from, to) : prefixRule(from, to);
}

function prefixRule(from: Template, to: Template): RedirectRule {
  return (location, request) => {
    const prefix = from.of(request);
    return location.startsWith(prefix) ? to.of(request) + location.slice(prefix.length) : undefined;
  };
}

/** The replacement stands for the whole text, and may use what was captured. */
function patternRule(pattern: RegExp, to: Template): RedirectRule {
  return (location, request) => {
    const captures = pattern.exec(location);
    if (captures === null) return undefined;
    request.captures = captures;
    return to.of(request);
  };
}
