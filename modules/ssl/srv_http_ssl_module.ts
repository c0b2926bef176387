import { flag, size } from '../../core/contract/args.js';
import { ServedCertificates, type ServedCertificate } from '../../core/contract/certificates.js';
import { Events } from '../../core/contract/events.js';
import type { HttpHandlers, HttpRequest, Scope } from '../../core/contract/http.js';
import { httpModule, type TlsSettings } from '../../core/contract/manifest.js';
import { Log } from '../../core/contract/log.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
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
  ssl_buffer_size: directive({ in: ['http', 'server'], args: size(), doc: 'Accepted; has no effect.' }),
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
    doc: 'Early data of TLS 1.3 is not supported: "on" has no effect, and is warned of.',
  }),
};

const NAME = 'srv_http_ssl_module';

/** TLS for servers (ngx_http_ssl_module): certificates of servers and clients, versions, ciphers. */
@httpModule({
  name: NAME,
  api: '1.1',
  directives,
  provides: [ServedCertificates],
  // Nothing is read of a client before its handshake is over: early data is not supported.
  variables: { ...clientVariables, ...connectionVariables, ssl_early_data: () => undefined },
})
export class Ssl implements ServedCertificates {
  readonly #servers: ServerTlsSettings<HttpRequest>;

  constructor(
    info: ServerInfo,
    tasks: Tasks,
    private readonly log: Log,
    events: Events,
    files: LogFiles,
  ) {
    this.#servers = new ServerTlsSettings(NAME, info, tasks, events, files);
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
    if (scope.conf.ssl_early_data) scope.advise('"ssl_early_data" is not supported on this platform, ignored', 'ssl_early_data');
    return this.#servers.compile(scope) ?? (scope.conf.ssl_await_certificate ? { awaitsCertificate: true, ca: [] } : undefined);
  }
}
