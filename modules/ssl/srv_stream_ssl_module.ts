import { rest, text, time } from '../core/module/args.js';
import { Events } from '../core/module/events.js';
import { streamModule, type TlsSettings } from '../core/module/manifest.js';
import { Log, ServerInfo, Tasks } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import { DECLINED, STREAM_INTERNAL_ERROR, type StreamHandler, type StreamHandlers, type StreamScope } from '../core/module/stream.js';
import { clientVariables } from '../core/module/tls/client-verification.js';
import { connectionVariables } from '../core/module/tls/connection-variables.js';
import { serverTlsDirectives } from '../core/module/tls/server-directives.js';
import { ServerTlsSettings } from '../core/module/tls/server-tls-settings.js';

const ANYWHERE = ['stream', 'stream server'] as const;

const directives = {
  ...serverTlsDirectives(ANYWHERE, 'stream server'),
  ssl_handshake_timeout: directive({ in: ANYWHERE, args: time(), default: '60s', doc: 'Timeout for the TLS handshake.' }),
  ssl_alpn: directive({
    in: ANYWHERE,
    args: { protocols: rest(text('protocol')) },
    doc: 'Protocols that clients may choose from by ALPN; a client that offers others only is rejected.',
  }),
};

const NAME = 'srv_stream_ssl_module';

/** TLS with clients of streams (ngx_stream_ssl_module): certificates of servers and clients, versions, ciphers. */
@streamModule({
  name: NAME,
  api: 1,
  directives,
  // First of all that looks at what was received.
  phases: { preread: 0 },
  variables: { ...clientVariables, ...connectionVariables },
})
export class StreamSsl {
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

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const { ssl_verify_client: verify } = scope.conf;
    return verify === 'off' ? undefined : { preread: this.#clientCheck(verify) };
  }

  compileTls(scope: StreamScope<typeof directives>): TlsSettings | undefined {
    const settings = this.#servers.compile(scope);
    const { ssl_handshake_timeout: handshakeTimeout, ssl_alpn: alpn } = scope.conf;
    return settings && { ...settings, handshakeTimeout, ...(alpn && { alpn: alpn.protocols }) };
  }

  #clientCheck(verify: 'on' | 'optional' | 'optional_no_ca'): StreamHandler {
    return (session) => {
      const { secure, certificate } = session.connection;
      if (!secure || (certificate === undefined && verify !== 'on')) return DECLINED;
      if (certificate === undefined) this.log.write('info', 'client sent no required SSL certificate', session);
      else if (certificate.error === undefined || verify === 'optional_no_ca') return DECLINED;
      else this.log.write('info', `client SSL certificate verify error: (${certificate.error})`, session);
      return STREAM_INTERNAL_ERROR;
    };
  }
}
