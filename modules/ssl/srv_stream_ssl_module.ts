import { rest, text, time } from '../../core/contract/args.js';
import { Channels } from '../../core/contract/channels.js';
import { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import { Events } from '../../core/contract/events.js';
import { streamModule, type TlsSettings } from '../../core/contract/manifest.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { LogFiles } from '../../core/contract/log-files.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import { TlsLibrary } from '../../core/contract/tls-library.js';
import { directive } from '../../core/contract/spec.js';
import {
  DECLINED,
  STREAM_INTERNAL_ERROR,
  type StreamHandler,
  type StreamHandlers,
  type StreamScope,
  type StreamSession,
} from '../../core/contract/stream.js';
import { clientVariables, isAccepted } from '../../core/toolkit/tls/client-verification.js';
import { connectionVariables } from '../../core/toolkit/tls/connection-variables.js';
import { serverTlsDirectives } from '../../core/toolkit/tls/server-directives.js';
import { ServerTlsSettings } from '../../core/toolkit/tls/server-tls-settings.js';

const ANYWHERE = ['stream', 'stream server'] as const;

const directives = {
  ...serverTlsDirectives<StreamSession>(ANYWHERE, 'stream server'),
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
  readonly #servers: ServerTlsSettings<StreamSession>;

  constructor(
    info: ServerInfo,
    tasks: Tasks,
    private readonly log: Log,
    events: Events,
    files: LogFiles,
    channels: Channels,
    library: TlsLibrary,
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
      else if (isAccepted(certificate, verify)) return DECLINED;
      else this.log.write('info', `client SSL certificate verify error: (${certificate.error ?? ''})`, session);
      return STREAM_INTERNAL_ERROR;
    };
  }
}
