import { streamModule } from '../../core/contract/manifest.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { SessionRelays, type RelayPlan } from '../../core/contract/stream-relays.js';
import type { StreamHandlers, StreamSession } from '../../core/contract/stream.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { TlsLibrary } from '../../core/contract/tls-library.js';
import { UpstreamTlsSettings } from '../../core/toolkit/tls/upstream-directives.js';
import { directives, type StreamProxyScope } from './stream-directives.js';

/** Passes sessions to upstream members (ngx_stream_proxy_module). Choice, connections and retries are the core's. */
@streamModule({ name: 'srv_stream_proxy_module', api: 1, directives, needs: ['srv_stream_upstream_module'] })
export class StreamProxy {
  readonly #tls: UpstreamTlsSettings<StreamSession>;

  constructor(
    private readonly relays: SessionRelays,
    files: LogFiles,
    info: ServerInfo,
    library: TlsLibrary,
  ) {
    this.#tls = new UpstreamTlsSettings(files, library, info);
  }

  compile(scope: StreamProxyScope): StreamHandlers | undefined {
    const { proxy_bind: bind } = scope.conf;
    if (bind?.transparent !== undefined)
      scope.fail('"transparent" is not supported', 'proxy_bind', 'Node.js cannot set the option IP_TRANSPARENT of a socket');
    return scope.conf.proxy_pass && { content: this.relays.compile(planOf(scope, this.#tls)) };
  }
}

function planOf(scope: StreamProxyScope, tls: UpstreamTlsSettings<StreamSession>): RelayPlan {
  const { conf } = scope;
  const target = conf.proxy_pass ?? scope.fail('no "proxy_pass"');
  const { proxy_bind: bind } = conf;
  return {
    target,
    connectTimeout: conf.proxy_connect_timeout,
    idleTimeout: conf.proxy_timeout,
    next: {
      enabled: conf.proxy_next_upstream,
      tries: conf.proxy_next_upstream_tries,
      timeoutMs: conf.proxy_next_upstream_timeout,
    },
    halfClose: conf.proxy_half_close,
    uploadRate: conf.proxy_upload_rate,
    downloadRate: conf.proxy_download_rate,
    proxyProtocol: conf.proxy_protocol,
    keepAlive: conf.proxy_socket_keepalive,
    bind: bind === undefined || bind.address.constant === 'off' ? undefined : bind.address,
    tls: conf.proxy_ssl ? tls.of(scope, true) : undefined,
    tlsName: conf.proxy_ssl_name ?? target,
    requests: conf.proxy_requests,
    responses: conf.proxy_responses,
    fail: (message, hint) => scope.fail(message, 'proxy_pass', hint),
  };
}

/** The name of an upstream, or the host of an address, without its port. */
