import { flag, size } from '../../core/contract/args.js';
import { ServedCertificates, type ServedCertificate } from '../../core/contract/certificates.js';
import { Channels } from '../../core/contract/channels.js';
import { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import { Events } from '../../core/contract/events.js';
import type { HttpHandlers, HttpRequest, Scope } from '../../core/contract/http.js';
import { httpModule, type TlsSettings } from '../../core/contract/manifest.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import { TlsLibrary } from '../../core/contract/tls-library.js';
import { directive } from '../../core/contract/spec.js';
import { clientTls, clientVariables } from '../../core/toolkit/tls/client-verification.js';
import { connectionVariables } from '../../core/toolkit/tls/connection-variables.js';
import { digestOf } from '../../core/toolkit/tls/digest.js';
import { serverTlsDirectives } from '../../core/toolkit/tls/server-directives.js';
import { hasCertificates, ServerTlsSettings } from '../../core/toolkit/tls/server-tls-settings.js';
import type { Directive } from '../../core/contract/tree.js';
import { clientCheck, explainClientCheck } from './client-check.js';

const directives = {
  ...serverTlsDirectives<HttpRequest>(['http', 'server'], 'server'),
  ssl_buffer_size: directive({
    in: ['http', 'server'],
    args: size(),
    default: '16k',
    doc: 'Most bytes of a response in one record of TLS: with small ones a client can decrypt its first bytes sooner. Less than 512 means 512, more than 16k means 16k.',
  }),
  ssl_await_certificate: directive({
    in: ['http', 'server'],
    args: flag(),
    default: 'off',
    doc: 'Allows a server without a certificate: handshakes fail, and the error log says why, until the API has set one (/v1/ssl).',
  }),
  ssl_early_data: directive({
    in: ['http', 'server'],
    args: flag(),
    default: 'off',
    doc: 'Accepts requests in early data of TLS 1.3 (RFC 8446, 2.3), which save a round trip and may be replayed: pass $ssl_early_data on, as in proxy_set_header Early-Data $ssl_early_data (RFC 8470). Needs the event method epoll.',
  }),
};

/** Bytes of content in a record that OpenSSL can be limited to (SSL_CTX_set_max_send_fragment(3)); without a limit it is the second. */
const LEAST_IN_RECORD = 512;
const MOST_IN_RECORD = 16_384;

const NAME = 'srv_http_ssl_module';

/** TLS for servers (ngx_http_ssl_module): certificates of servers and clients, versions, ciphers. */
@httpModule({
  name: NAME,
  api: '1.1',
  directives,
  provides: [ServedCertificates],
  variables: {
    ...clientVariables,
    ...connectionVariables,
    ssl_early_data: ({ connection }) => (connection.tls?.isEarly === true ? '1' : undefined),
  },
})
export class Ssl implements ServedCertificates {
  readonly #servers: ServerTlsSettings<HttpRequest>;

  constructor(
    private readonly info: ServerInfo,
    tasks: Tasks,
    private readonly log: Log,
    events: Events,
    files: LogFiles,
    channels: Channels,
    private readonly library: TlsLibrary,
    names: HostNames,
    guard: ControlPlaneGuard,
  ) {
    this.#servers = new ServerTlsSettings(NAME, { info, tasks, log, events, files, channels, library, names, guard });
  }

  start(role: 'master' | 'worker' | 'control'): void {
    this.#servers.start(role);
  }

  stop(): void {
    this.#servers.stop();
  }

  of(server: Directive): readonly ServedCertificate[] {
    return this.#servers.of(server);
  }

  compileServer(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const { clientAuthority } = clientTls(scope, digestOf);
    const check = clientCheck(scope, { authority: clientAuthority, hasHandshake: hasCertificates(scope) }, this.log);
    return check && { post_read: check, explain: { post_read: explainClientCheck(scope, clientAuthority, check) } };
  }

  compileTls(scope: Scope<typeof directives>): TlsSettings | undefined {
    const settings = this.#servers.compile(scope);
    if (settings === undefined) return scope.conf.ssl_await_certificate ? { awaitsCertificate: true, ca: [] } : undefined;
    const { ssl_buffer_size: bytes, ssl_early_data: earlyData } = scope.conf;
    if (bytes === 0) scope.fail('"ssl_buffer_size" must not be 0', 'ssl_buffer_size', 'a size from 512 to 16k: ssl_buffer_size 4k');
    const obstacle = this.info.role === 'worker' ? undefined : this.library.obstacle;
    if (earlyData && obstacle !== undefined) scope.advise(`"ssl_early_data" ignored, not supported: ${obstacle}`, 'ssl_early_data');
    return {
      ...settings,
      ...(bytes < MOST_IN_RECORD && { recordSize: Math.max(bytes, LEAST_IN_RECORD) }),
      ...(earlyData && { earlyData }),
    };
  }
}
