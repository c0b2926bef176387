import net from 'node:net';
import type { Duplex } from 'node:stream';
import type { ReadMemory } from '../../read-memory.js';
import type { Connection, ConnectingUser } from '../connection.js';
import type { DatagramOptions, DatagramReceiver, Datagrams } from '../datagrams.js';
import type { ListenPlace, ListeningSocket, ListeningUser } from '../listening.js';
import type { TlsConnectingUser } from '../tls.js';
import type { TlsContext } from '../tls-context.js';
import type { Target, Transport } from '../transport.js';
import { NodeDatagrams } from './datagrams.js';
import { NodeListening } from './node-listening.js';
import { follow } from './socket-events.js';
import { connectTls } from './tls/connect-tls.js';

/** Over node:net. */
export class NodeTransport implements Transport {
  readonly name = 'node';

  listen(place: ListenPlace, user: ListeningUser): Promise<ListeningSocket> {
    return NodeListening.open(place, user);
  }

  datagrams(address: string, receiver: DatagramReceiver, options?: DatagramOptions): Datagrams {
    return new NodeDatagrams(address, receiver, options);
  }

  prepareTls(context: TlsContext): void {
    context.assertUsable();
  }

  connect(target: Target, memory: ReadMemory, user: ConnectingUser): Connection {
    const onread = {
      buffer: () => memory.next(),
      callback: (length: number, buffer: Uint8Array) => {
        user.onData((buffer as Buffer).subarray(0, length), true);
        return true;
      },
    };
    const socket: Connection & net.Socket = net.connect({ ...target, noDelay: true, allowHalfOpen: true, onread }, () => user.onConnect());
    socket.memory = memory;
    return follow(socket, user);
  }

  connectStream(target: Target): Duplex {
    return net.connect({ ...target, noDelay: true });
  }

  connectTls(target: Target, _: ReadMemory, user: TlsConnectingUser): Connection {
    return connectTls(target, user);
  }
}
