import type { Duplex } from 'node:stream';
import { ReadBuffers } from './buffers.js';
import { ReadMemory } from './read-memory.js';
import type { Connection, ConnectingUser } from './transport/connection.js';
import type { DatagramReceiver, Datagrams } from './transport/datagrams.js';
import type { TlsConnectingUser } from './transport/tls.js';
import { NodeTransport, type Target, type Transport } from './transport/transport.js';

/** Any address of this machine, of the family of another address. */
const anyAddress = (address: string): string => (address.includes(':') ? '::' : '0.0.0.0');

/** Makes connections and sockets for datagrams, with the transport that is chosen at the time. */
export class Dialer {
  constructor(
    private readonly transports: { readonly current: Transport },
    private readonly buffers: ReadBuffers,
  ) {}

  /** Of a process that no configuration chooses a transport for: sockets of Node.js, which every system has. */
  static plain(): Dialer {
    return new Dialer({ current: new NodeTransport() }, new ReadBuffers());
  }

  /** Begins to connect. Its user gets bytes that are valid during the call. */
  connect(target: Target, user: ConnectingUser): Connection {
    return this.transports.current.connect(target, new ReadMemory(this.buffers), user);
  }

  /** As {@link connect}, to a server that speaks TLS. @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  connectTls(target: Target, user: TlsConnectingUser): Connection {
    return this.transports.current.connectTls(target, new ReadMemory(this.buffers), user);
  }

  /** As {@link connect}, for libraries that need a stream of Node.js. */
  stream(target: Target): Duplex {
    return this.transports.current.connectStream(target, new ReadMemory(this.buffers));
  }

  /**
   * A socket that sends datagrams to one address, from any port, and receives those of it alone. Where it cannot be connected, the receiver is
   * notified after this call.
   * @throws Error of the system: EMFILE …
   */
  datagrams(address: string, port: number, receiver: DatagramReceiver): Datagrams {
    const socket = this.transports.current.datagrams(address, receiver);
    try {
      socket.bind(anyAddress(address), 0);
      socket.connect(address, port);
    } catch (error) {
      socket.close();
      throw error;
    }
    return socket;
  }
}
