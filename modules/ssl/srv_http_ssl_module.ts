import { flag, size } from '../core/module/args.js';
import { ServedCertificates, type ServedCertificate } from '../core/module/certificates.js';
import { Events } from '../core/module/events.js';
import type { HttpHandlers, Scope } from '../core/module/http.js';
import { httpModule, type TlsSettings } from '../core/module/manifest.js';
import { Log, ServerInfo, Tasks } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import { clientTls, clientVariables } from '../core/module/tls/client-verification.js';
import { connectionVariables } from '../core/module/tls/connection-variables.js';
import { serverTlsDirectives } from '../core/module/tls/server-directives.js';
import { fingerprint, ServerTlsSettings } from '../core/module/tls/server-tls-settings.js';
import type { Directive } from '../core/module/tree.js';
import { clientCheck, explainClientCheck } from './srv_http_ssl_module/client-check.js';

const directives = {
  ...serverTlsDirectives(['http', 'server'], 'server'),
  ssl_buffer_size: directive({ in: ['http', 'server'], args: size(), doc: 'Accepted; has no effect.' }),
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
  variables: { ...clientVariables, ...connectionVariables },
})
export class Ssl implements ServedCertificates {
  readonly #servers: ServerTlsSettings;

  constructor(
    info: ServerInfo,
    tasks: Tasks,
    private readonly log: Log,
    events: Events,
  ) {
    this.#servers = new ServerTlsSettings(NAME, info, tasks, events);
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
    const { clientAuthority } = clientTls(scope, fingerprint);
    const check = clientCheck(scope, clientAuthority, this.log);
    return check && { post_read: check, explain: { post_read: explainClientCheck(scope, clientAuthority, check) } };
  }

  compileTls(scope: Scope<typeof directives>): TlsSettings | undefined {
    if (scope.conf.ssl_early_data) scope.advise('"ssl_early_data" is not supported on this platform, ignored', 'ssl_early_data');
    return this.#servers.compile(scope);
  }
}
