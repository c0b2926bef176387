import { parseSource } from '../../core/contract/address.js';
import { Exchanges, type ExchangePlan } from '../../core/contract/exchanges.js';
import type { Handler, HttpHandlers, HttpRequest, Template } from '../../core/contract/http.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { httpModule } from '../../core/contract/manifest.js';
import { fieldLine } from '../../core/contract/message-text.js';
import { SharedSettings } from '../../core/toolkit/exchange/shared-settings.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { TlsLibrary } from '../../core/contract/tls-library.js';
import { UpstreamTlsSettings } from '../../core/toolkit/tls/upstream-directives.js';
import { directives, type GrpcScope } from './directives.js';
import { tlsScope } from './tls-scope.js';

const HTTP2 = ['h2'];
/** Fields that frame a request are the engine's. */
const FRAMING = new Set(['content-length', 'transfer-encoding', 'te']);
/** Bytes of a response that wait in memory where a member asks for buffering (X-Accel-Buffering). */
const MEMORY = 32_768;

/** Passes gRPC requests to upstream members over HTTP/2 (ngx_http_grpc_module): streams both ways, statuses and trailers. */
@httpModule({ name: 'srv_http_grpc_module', api: 1, directives, needs: ['srv_http_upstream_module'] })
export class Grpc {
  readonly #shared = new SharedSettings(['date', 'server', 'x-pad']);
  readonly #tls: UpstreamTlsSettings<HttpRequest>;

  constructor(
    private readonly exchanges: Exchanges,
    files: LogFiles,
    info: ServerInfo,
    library: TlsLibrary,
  ) {
    this.#tls = new UpstreamTlsSettings(files, library, info);
  }

  compile(scope: GrpcScope): HttpHandlers | undefined {
    const address = scope.own('grpc_pass') ? scope.conf.grpc_pass : undefined;
    if (address === undefined) return undefined;
    const written = scope.directive === undefined ? '' : (address.constant ?? '');
    const isSecure = /^grpcs:\/\//i.test(written);
    const plain = this.exchanges.compile(this.#plan(scope, address, isSecure ? 'https' : 'http'));
    const secure = address.constant === undefined ? this.exchanges.compile(this.#plan(scope, address, 'https')) : plain;
    const choose = (request: HttpRequest): Handler => (plain !== secure && /^grpcs:\/\//i.test(address.of(request)) ? secure : plain);
    return {
      content: (request) => choose(request)(request),
      explain: { content: (request, notes) => this.exchanges.explain(choose(request), request, notes) },
    };
  }

  #plan(scope: GrpcScope, address: Template, scheme: 'http' | 'https'): ExchangePlan {
    const { conf } = scope;
    const host = hostOf(address);
    const next = {
      pass_header: conf.grpc_pass_header,
      hide_header: conf.grpc_hide_header,
      force_ranges: false,
      next_upstream: conf.grpc_next_upstream,
      next_upstream_tries: conf.grpc_next_upstream_tries,
      next_upstream_timeout: conf.grpc_next_upstream_timeout,
    };
    const fields = requestFields(scope, host);
    return {
      target: host,
      scheme,
      prefix: 'grpc',
      shownScheme: scheme === 'https' ? 'grpcs' : 'grpc',
      defaultPort: 0,
      tls: { ...this.#tls.of(tlsScope(scope), scheme === 'https'), alpn: HTTP2 },
      tlsName: conf.grpc_ssl_name ?? host,
      bind: sourceOf(scope),
      socketKeepalive: conf.grpc_socket_keepalive,
      method: undefined,
      uri: { kind: 'same' },
      replaced: fields.names,
      passFields: true,
      fields: fields.text,
      connectTimeout: conf.grpc_connect_timeout,
      sendTimeout: conf.grpc_send_timeout,
      readTimeout: conf.grpc_read_timeout,
      next: this.#shared.nextUpstream(next),
      version: '2',
      hidden: this.#shared.hidden(next),
      ignored: new Set(conf.grpc_ignore_headers.flatMap(({ names }) => names.map((name) => name.toLowerCase()))),
      rewriteLocation: undefined,
      forceRanges: false,
      interceptErrors: conf.grpc_intercept_errors,
      buffering: {
        enabled: false,
        headSize: conf.grpc_buffer_size,
        memory: MEMORY,
        readSize: MEMORY,
        writeSize: MEMORY,
        maxFileSize: 0,
        folder: '',
        levels: [],
        limitRate: undefined,
      },
      ignoreClientAbort: false,
      requestBuffering: false,
      passTrailers: conf.grpc_pass_trailers,
      passBody: true,
      body: undefined,
      scope: scope.directive ?? scope,
      fail: (message, hint) => scope.fail(message, 'grpc_pass', hint),
    };
  }
}

/** The address without its scheme. */
function hostOf(address: Template): Template {
  const { constant } = address;
  if (constant === undefined) return { constant, of: (request) => bareHost(address.of(request)) };
  const host = constant.replace(SCHEME, '');
  return { constant: host, of: () => host };
}

const SCHEME = /^grpcs?:\/\//i;

/** Of a text with variables: what looks like a path is left out, as in nginx. */
function bareHost(text: string): string {
  const host = text.replace(SCHEME, '');
  return host.startsWith('unix:') ? host : host.replace(/\/.*$/s, '');
}

/** The lines of grpc_set_header, Host and TE, without which a member must not send trailers. */
function requestFields({ conf }: GrpcScope, host: Template): { names: ReadonlySet<string>; text: (request: HttpRequest) => string } {
  const lines = conf.grpc_set_header.filter(({ name }) => !FRAMING.has(name.toLowerCase()));
  const names = new Set(['host', 'te', ...lines.map(({ name }) => name.toLowerCase())]);
  const own = lines.some(({ name }) => name.toLowerCase() === 'host') ? [] : [{ name: 'Host', value: host }];
  const all = [...own, ...lines];
  return {
    names,
    text(request) {
      let text = '';
      for (const { name, value } of all) {
        const of = value.of(request);
        if (of !== '') text += fieldLine(name, name === 'Host' && of.startsWith('unix:') ? 'localhost' : of);
      }
      return `${text}TE: trailers\r\n`;
    },
  };
}

function sourceOf(scope: GrpcScope): Template | undefined {
  const { grpc_bind: bind } = scope.conf;
  if (bind?.transparent !== undefined)
    scope.fail('"transparent" is not supported', 'grpc_bind', 'Node.js cannot set the option IP_TRANSPARENT of a socket');
  if (bind === undefined || bind.address.constant === 'off') return undefined;
  const { constant } = bind.address;
  if (constant !== undefined && parseSource(constant) === undefined) scope.fail(`invalid address "${constant}"`, 'grpc_bind');
  return bind.address;
}
