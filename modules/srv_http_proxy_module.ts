import type { Handler, HttpHandlers, HttpRequest, Template } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { Exchanges, Log, type ExchangePlan, type NextUpstream } from '../core/module/services.js';
import type { Directive } from '../core/module/tree.js';
import { directives, type ProxyScope } from './srv_http_proxy_module/directives.js';
import { assertRedirects, rewriter } from './srv_http_proxy_module/redirect.js';
import { requestFields } from './srv_http_proxy_module/request-fields.js';
import { upstreamTls } from './srv_http_proxy_module/tls.js';
import { defaultPort, parseTarget, schemeOf, type Scheme, type Target } from './srv_http_proxy_module/target.js';

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

  compile(scope: ProxyScope): HttpHandlers | undefined {
    assertRedirects(scope);
    const url = scope.own('proxy_pass') ? scope.conf.proxy_pass : undefined;
    if (url === undefined) return undefined;
    const target = parseTarget(url, scope);
    if (scope.directive !== undefined) this.#targets.set(scope.directive, target);
    const plain = this.exchanges.compile(planOf(scope, target, target.scheme ?? 'http'));
    return {
      autoRedirect: true,
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

function planOf(scope: ProxyScope, target: Target, scheme: Scheme): ExchangePlan {
  const { conf } = scope;
  const fields = requestFields(scope, target);
  const passed = new Set(conf.proxy_pass_header.map((name) => name.toLowerCase()));
  // A field that is named by both directives is passed (nginx).
  const hidden = [...HIDDEN, ...conf.proxy_hide_header.map((name) => name.toLowerCase())].filter((name) => !passed.has(name));
  // Whether there are ranges is not the member's affair then.
  if (conf.proxy_force_ranges) hidden.push('accept-ranges');
  return {
    target: target.host,
    scheme,
    defaultPort: defaultPort(scheme),
    tls: upstreamTls(scope, scheme),
    tlsName: conf.proxy_ssl_name ?? target.host,
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
    ignored: new Set(conf.proxy_ignore_headers?.names.map((name) => name.toLowerCase())),
    rewriteLocation: rewriter(scope, target),
    forceRanges: conf.proxy_force_ranges,
    interceptErrors: conf.proxy_intercept_errors,
    ignoreClientAbort: conf.proxy_ignore_client_abort,
    requestBuffering: conf.proxy_request_buffering,
    passBody: conf.proxy_pass_request_body,
    scope: scope.directive ?? scope,
    fail: (message, hint) => scope.fail(message, 'proxy_pass', hint),
  };
}

function nextUpstream({ conf }: ProxyScope): NextUpstream {
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
