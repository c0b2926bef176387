import type { Handler, HttpHandlers, HttpRequest, Template } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { Exchanges, Log, type ExchangePlan } from '../core/module/services.js';
import { upstreamTls } from '../core/module/tls/upstream-directives.js';
import type { Directive } from '../core/module/tree.js';
import { assertSizes, responseBuffering } from './srv_http_proxy_module/buffering.js';
import { directives, type ProxyScope } from './srv_http_proxy_module/directives.js';
import { assertRedirects, rewriter } from './srv_http_proxy_module/redirect.js';
import { requestFields } from './srv_http_proxy_module/request-fields.js';
import { SharedSettings } from './srv_http_proxy_module/shared-settings.js';
import { defaultPort, parseTarget, schemeOf, type Scheme, type Target } from './srv_http_proxy_module/target.js';

/** Passes requests to upstream members (ngx_http_proxy_module). Choice, connections and retries are the core's. */
@httpModule({ name: 'srv_http_proxy_module', api: 1, directives, needs: ['srv_http_upstream_module'] })
export class Proxy {
  /** `$proxy_host` by location. */
  readonly #targets = new WeakMap<Directive, Target>();
  readonly #shared = new SharedSettings();

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
    assertSizes(scope);
    const url = scope.own('proxy_pass') ? scope.conf.proxy_pass : undefined;
    if (url === undefined) return undefined;
    const target = parseTarget(url, scope);
    if (scope.directive !== undefined) this.#targets.set(scope.directive, target);
    const plain = this.exchanges.compile(this.#plan(scope, target, target.scheme ?? 'http'));
    const secure = target.scheme === undefined ? this.exchanges.compile(this.#plan(scope, target, 'https')) : plain;
    const choose = this.#choice(url, plain, secure);
    return {
      autoRedirect: true,
      content: plain === secure ? plain : (request) => choose(request)?.(request) ?? 500,
      explain: {
        content: (request, notes) => {
          const handler = plain === secure ? plain : choose(request);
          return handler === undefined ? 500 : this.exchanges.explain(handler, request, notes);
        },
      },
    };
  }

  #plan(scope: ProxyScope, target: Target, scheme: Scheme): ExchangePlan {
    return planOf(scope, target, scheme, this.#shared);
  }

  /** Whether TLS is spoken is known with the request only. Undefined: the URL is none, which is logged. */
  #choice(url: Template, plain: Handler, secure: Handler): (request: HttpRequest) => Handler | undefined {
    return (request) => {
      const text = url.of(request);
      switch (schemeOf(text)) {
        case 'http':
          return plain;
        case 'https':
          return secure;
        case undefined:
          this.log.write('error', `invalid URL prefix in "${text}"`, request);
          return undefined;
      }
    };
  }

  #target(request: HttpRequest): Target | undefined {
    const { directive: location } = request.scope;
    return location && this.#targets.get(location);
  }
}

function planOf(scope: ProxyScope, target: Target, scheme: Scheme, shared: SharedSettings): ExchangePlan {
  const { conf } = scope;
  const fields = requestFields(scope, target);
  return {
    target: target.host,
    scheme,
    defaultPort: defaultPort(scheme),
    tls: upstreamTls(scope, scheme === 'https'),
    tlsName: conf.proxy_ssl_name ?? target.host,
    method: conf.proxy_method,
    uri: target.uri,
    replaced: fields.names,
    passFields: conf.proxy_pass_request_headers,
    fields: fields.text,
    connectTimeout: conf.proxy_connect_timeout,
    sendTimeout: conf.proxy_send_timeout,
    readTimeout: conf.proxy_read_timeout,
    next: shared.nextUpstream(conf),
    version: conf.proxy_http_version,
    hidden: shared.hidden(conf),
    ignored: new Set(conf.proxy_ignore_headers?.names.map((name) => name.toLowerCase())),
    rewriteLocation: rewriter(scope, target),
    forceRanges: conf.proxy_force_ranges,
    interceptErrors: conf.proxy_intercept_errors,
    buffering: responseBuffering(scope),
    ignoreClientAbort: conf.proxy_ignore_client_abort,
    requestBuffering: conf.proxy_request_buffering,
    passBody: conf.proxy_pass_request_body,
    scope: scope.directive ?? scope,
    fail: (message, hint) => scope.fail(message, 'proxy_pass', hint),
  };
}
