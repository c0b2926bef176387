import { systemErrorText } from '../../contract/system-error.js';
import type { DatagramReceiver, Datagrams } from '../transport/datagrams.js';
import type { Transport } from '../transport/transport.js';

/** Handles what comes from a member. */
export interface UdpPeerUser {
  onPeerDatagram(bytes: Buffer): void;
  /** The system reports an error, in nginx's words: `recv() failed (111: Connection refused)`. Nothing is closed. */
  onPeerError(reason: string): void;
  /** The system had no room for a datagram to the member. */
  onPeerDropped?(error: Error): void;
}

/** Where a member is, and where datagrams to it come from (proxy_bind). */
export interface UdpTarget {
  readonly host: string;
  readonly port: number;
  readonly localAddress?: string;
  readonly localPort?: number;
}

/** Functions of libuv that the C library has. */
const CALLS: Readonly<Record<string, string>> = { recvmsg: 'recv()', send: 'send()', connect: 'connect()' };

/** The socket of a session to a member. It is connected: what others send to its port does not arrive. */
export class UdpPeer implements DatagramReceiver {
  readonly #socket: Datagrams;
  /** False: it could not be connected, and the user is notified why in a moment. */
  readonly connected: boolean;

  /** @throws Error of the system for failures that are not of the member: EMFILE, EADDRNOTAVAIL of proxy_bind */
  constructor(
    { host, port, localAddress, localPort = 0 }: UdpTarget,
    transport: Transport,
    private readonly user: UdpPeerUser,
  ) {
    this.#socket = transport.datagrams(host, this);
    try {
      this.#socket.bind(localAddress ?? (host.includes(':') ? '::' : '0.0.0.0'), localPort);
      this.connected = this.#socket.connect(host, port);
    } catch (error) {
      this.#socket.close();
      throw error;
    }
  }

  /** Sends a datagram. False: it was dropped, because too much waits to be sent. */
  send(bytes: Buffer): boolean {
    return this.#socket.send(bytes);
  }

  /** Number of its socket; undefined: it is not known. */
  get descriptor(): number | undefined {
    return this.#socket.descriptor;
  }

  close(): void {
    this.#socket.close();
  }

  onDatagram(bytes: Buffer): void {
    this.user.onPeerDatagram(bytes);
  }

  onDropped(error: Error): void {
    this.user.onPeerDropped?.(error);
  }

  onSocketError(error: NodeJS.ErrnoException): void {
    this.user.onPeerError(`${CALLS[error.syscall ?? ''] ?? 'recv()'} failed (${systemErrorText(error)})`);
  }
}
