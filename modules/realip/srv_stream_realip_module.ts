import { streamModule } from '../core/module/manifest.js';
import { clients, type AddressAndPort } from '../core/module/network.js';
import { directive } from '../core/module/spec.js';
import { DECLINED, type StreamHandlers, type StreamScope, type StreamSession } from '../core/module/stream.js';

const directives = {
  set_real_ip_from: directive({
    in: ['stream', 'stream server'],
    args: clients(),
    many: true,
    doc: 'Trusted addresses, which send the real address of the client by the PROXY protocol.',
  }),
};

/** The address of the connection itself, kept with the session. */
const CONNECTED = {};

/** What a session came from, before its client became another one. */
function connected(session: StreamSession): AddressAndPort {
  const original = session.get(CONNECTED) as AddressAndPort | undefined;
  return original ?? { address: session.connection.remoteAddress, port: session.connection.remotePort };
}

/** The client's address as a proxy in front tells it (ngx_stream_realip_module). */
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
  compile({ conf: { set_real_ip_from: trusted } }: StreamScope<typeof directives>): StreamHandlers | undefined {
    if (trusted.length === 0) return undefined;
    return {
      post_accept(session) {
        const { remoteAddress, proxy } = session.connection;
        const source = proxy?.source;
        if (source !== undefined && trusted.some((fits) => fits(remoteAddress))) {
          session.set(CONNECTED, connected(session));
          session.setClientAddress(source.address, source.port);
        }
        return DECLINED;
      },
    };
  }
}
