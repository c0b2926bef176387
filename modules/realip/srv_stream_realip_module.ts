import { streamModule } from '../../core/contract/manifest.js';
import { proxiedClient, type AddressAndPort } from '../../core/contract/network.js';
import { HostNames } from '../../core/contract/host-names.js';
import { Log } from '../../core/contract/log.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';
import { DECLINED, type StreamHandlers, type StreamScope, type StreamSession } from '../../core/contract/stream.js';
import { TrustedNames, trustedClients } from '../../core/toolkit/trusted-clients.js';

const directives = {
  set_real_ip_from: directive({
    in: ['stream', 'stream server'],
    args: trustedClients('set_real_ip_from'),
    many: true,
    doc: 'Trusted addresses, or a host whose addresses are looked up when the configuration is applied, which send the real address of the client by the PROXY protocol.',
  }),
};

/** The address of the connection itself, kept with the session. */
const CONNECTED = {};

/** Original address of a session, before it was replaced. */
function connected(session: StreamSession): AddressAndPort {
  const original = session.get(CONNECTED) as AddressAndPort | undefined;
  return original ?? { address: session.connection.remoteAddress, port: session.connection.remotePort };
}

/** The address of the client that a proxy in front of srv sends (ngx_stream_realip_module). */
@streamModule({
  name: 'srv_stream_realip_module',
  api: 1,
  directives,
  variables: {
    realip_remote_addr: (session) => connected(session).address,
    realip_remote_port: (session) => String(connected(session).port || ''),
  },
})
export class StreamRealIp {
  readonly #names: TrustedNames;

  constructor(hosts: HostNames, info: ServerInfo, log: Log) {
    this.#names = new TrustedNames('set_real_ip_from', hosts, info, log);
  }

  compile(scope: StreamScope<typeof directives>): StreamHandlers | undefined {
    const trusted = this.#names.compile(scope, scope.conf.set_real_ip_from);
    if (trusted.length === 0) return undefined;
    return {
      post_accept(session) {
        const { remoteAddress, proxy } = session.connection;
        const source = proxy?.source;
        if (source !== undefined && trusted.some((fits) => fits(remoteAddress))) {
          session.set(CONNECTED, connected(session));
          const { address, port } = proxiedClient(source);
          session.setClientAddress(address, port);
        }
        return DECLINED;
      },
    };
  }
}
