/** Members and clients that speak UDP. They go away with the test. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { Scope } from './scope.js';
import { waitFor } from './wait.js';

/** A datagram that a member got. */
export interface Received {
  readonly text: string;
  /** Where the proxy sent it from: a port for each session. */
  readonly address: string;
  readonly port: number;
}

export interface DatagramBackend {
  readonly port: number;
  readonly received: readonly Received[];
  close(): Promise<void>;
}

/** Replies of a member to a datagram, any number of datagrams. */
export type Respond = (bytes: Buffer, send: (bytes: Buffer | string) => void) => void;

export const echo: Respond = (bytes, send) => send(bytes);

export async function datagramBackend(t: Scope, respond: Respond, host = '127.0.0.1', port = 0): Promise<DatagramBackend> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const received: Received[] = [];
  socket.on('message', (bytes: Buffer, from: RemoteInfo) => {
    received.push({ text: String(bytes), address: from.address, port: from.port });
    respond(bytes, (response) => socket.send(response, from.port, from.address));
  });
  socket.bind(port, host);
  await once(socket, 'listening');
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    socket.close();
    await once(socket, 'close');
  };
  t.teardown(close);
  return { port: socket.address().port, received, close };
}

/** A client with a port of its own, which keeps what comes back. */
export class DatagramClient {
  readonly received: Buffer[] = [];

  constructor(private readonly socket: Socket) {
    socket.on('message', (bytes) => this.received.push(bytes));
    // No socket listens there any more.
    socket.on('error', () => undefined);
  }

  get port(): number {
    return this.socket.address().port;
  }

  send(bytes: Buffer | string): void {
    this.socket.send(bytes);
  }

  /** The next datagram to come. */
  async next(): Promise<Buffer> {
    const { length } = this.received;
    await waitFor('a datagram', () => this.received.length > length);
    return this.received[length] as Buffer;
  }

  /** Sends a datagram and returns the text that comes back. */
  async ask(bytes: Buffer | string): Promise<string> {
    this.send(bytes);
    return String(await this.next());
  }
}

export async function datagramClient(t: Scope, port: number, host = '127.0.0.1'): Promise<DatagramClient> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  t.teardown(() => socket.close());
  socket.connect(port, host);
  await once(socket, 'connect');
  return new DatagramClient(socket);
}
