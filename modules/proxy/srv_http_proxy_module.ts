import type { Handler, HttpHandlers, HttpRequest, Scope, Template } from '../../core/contract/http.js';
import { httpModule } from '../../core/contract/manifest.js';
import { Exchanges, type ExchangePlan } from '../../core/contract/exchanges.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ExchangeSettings } from '../../core/toolkit/exchange/exchange-settings.js';
import { ResponseStores } from '../../core/toolkit/exchange/response-store.js';
import { UpstreamTlsSettings } from '../../core/toolkit/tls/upstream-directives.js';
import type { Directive } from '../../core/contract/tree.js';
import { cookieRewriter } from './cookies.js';
import { directives, type ProxyScope } from './directives.js';
import { assertCookieRules, assertRedirects, rewriter } from './redirect.js';
import { requestFields } from './request-fields.js';
import { TlsLibrary } from '../../core/contract/tls-library.js';
import { defaultPort, parseTarget, schemeOf, type Scheme, type ProxyTarget } from './target.js';

/** Passes requests to upstream members (ngx_http_proxy_module). Choice, connections and retries are the core's. */
@httpModule({ name: 'srv_http_proxy_module', api: 1, directives, needs: ['srv_http_upstream_module'] })
export class Proxy {
  /** `$proxy_host` by location. */
  readonly #targets = new WeakMap<Directive, ProxyTarget>();
  readonly #settings = new ExchangeSettings('proxy', ['date', 'server', 'x-pad']);
  readonly #tls: UpstreamTlsSettings<HttpRequest>;
  readonly #stores: ResponseStores<'proxy'>;

  constructor(
    private readonly exchanges: Exchanges,
    private readonly log: Log,
    files: LogFiles,
    info: ServerInfo,
    library: TlsLibrary,
  ) {
    this.#tls = new UpstreamTlsSettings(files, library, info);
    this.#stores = new ResponseStores('proxy', info, log);
  }

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
    assertCookieRules(scope);
    this.#settings.assert(scope);
    const url = scope.own('proxy_pass') ? scope.conf.proxy_pass : undefined;
    if (url === undefined) return undefined;
    const target = parseTarget(url, scope);
    if (scope.directive !== undefined) this.#targets.set(scope.directive, target);
    const plain = this.exchanges.compile(this.#plan(scope, target, target.scheme ?? 'http'));
    const secure = target.scheme === undefined ? this.exchanges.compile(this.#plan(scope, target, 'https')) : plain;
    const choose = this.#choice(url, plain, secure);
    const memberResponse = this.#stores.handler(scope);
    return {
      autoRedirect: true,
      ...(memberResponse && { memberResponse }),
      content: plain === secure ? plain : (request) => choose(request)?.(request) ?? 500,
      explain: {
        content: (request, notes) => {
          const handler = plain === secure ? plain : choose(request);
          return handler === undefined ? 500 : this.exchanges.explain(handler, request, notes);
        },
      },
    };
  }

  #plan(scope: ProxyScope, target: ProxyTarget, scheme: Scheme): ExchangePlan {
    return planOf(scope, target, scheme, { tls: this.#tls, settings: this.#settings, log: this.log });
  }

  /** The use of TLS is known with the request only. Undefined: the URL is none, which is logged. */
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

  #target(request: HttpRequest): ProxyTarget | undefined {
    // A block of `if` or `limit_except` without a line of its own has that of the location.
    for (let scope: Scope | undefined = request.scope; scope?.directive !== undefined; scope = scope.parent) {
      const target = this.#targets.get(scope.directive);
      if (target !== undefined || scope.kind === 'location') return target;
    }
    return undefined;
  }
}

/** Settings that all locations have in common. */
interface InCommon {
  readonly tls: UpstreamTlsSettings<HttpRequest>;
  readonly settings: ExchangeSettings<'proxy'>;
  readonly log: Log;
}

const HTTP2 = ['h2'];

function planOf(scope: ProxyScope, target: ProxyTarget, scheme: Scheme, { tls, settings, log }: InCommon): ExchangePlan {
  const { conf } = scope;
  const fields = requestFields(scope, target);
  return {
    ...settings.plan(scope, 'proxy_pass'),
    target: target.host,
    scheme,
    defaultPort: defaultPort(scheme),
    tls: conf.proxy_http_version === '2' ? { ...tls.of(scope, scheme === 'https'), alpn: HTTP2 } : tls.of(scope, scheme === 'https'),
    tlsName: conf.proxy_ssl_name ?? target.host,
    method: conf.proxy_method,
    uri: target.uri,
    replaced: fields.names,
    fields: fields.text,
    version: conf.proxy_http_version,
    rewriteLocation: rewriter(scope, target),
    rewriteCookie: cookieRewriter(scope, log),
    passTrailers: conf.proxy_pass_trailers,
    body: conf.proxy_set_body,
  };
}
