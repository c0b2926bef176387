import type { UdpListener } from './udp-listener.js';
import type { DatagramEnds, DatagramReceiver, Datagrams, DatagramSource } from '../transport/datagrams.js';

/** Handles what a client sends within one flow. */
export interface FlowReceiver {
  /** @param bytes a datagram, also an empty one; they are valid during the call alone */
  onClientDatagram(bytes: Buffer): void;
  /** There is no way to the client any more: the listener was closed, and no other socket could be opened. */
  onClientLost(reason: string): void;
}

/** The datagrams that one client, which is an address and a port, exchanges with a listener as one session. */
export class UdpFlow implements DatagramReceiver {
  receiver: FlowReceiver | undefined = undefined;
  /** For this client alone, once the listener has closed. */
  #own: Datagrams | undefined = undefined;

  constructor(
    private readonly listener: UdpListener,
    /** In the listener's table. */
    readonly key: string,
    private readonly ends: DatagramEnds,
  ) {}

  get remoteAddress(): string {
    return this.ends.address;
  }
  get remotePort(): number {
    return this.ends.port;
  }
  /** Undefined: that of the listener. */
  get localAddress(): string | undefined {
    return this.ends.to;
  }

  /** Sends a datagram to the client. False: it was dropped. */
  send(bytes: Buffer): boolean {
    return this.#own === undefined ? this.listener.sendTo(bytes, this.ends) : this.#own.send(bytes);
  }

  /** The next datagram of the client begins another flow (proxy_requests). This one can still be sent to. */
  detach(): void {
    this.listener.detach(this);
  }

  /** The session has ended. */
  close(): void {
    this.receiver = undefined;
    this.listener.remove(this);
    this.#own?.close();
    this.#own = undefined;
  }

  /**
   * Takes a socket of its own on the listener's address, connected to the client: the system prefers it to all others for this client.
   * @param open makes the socket, which is bound. Undefined as a host: that of the listener
   */
  moveTo(open: (receiver: DatagramReceiver, host: string | undefined) => Datagrams): void {
    if (this.#own !== undefined) return;
    try {
      const socket = open(this, this.ends.to);
      // Before, so that it is closed with the flow.
      this.#own = socket;
      socket.connect(this.remoteAddress, this.remotePort);
    } catch (error) {
      this.receiver?.onClientLost((error as Error).message);
    }
  }

  onDatagram(bytes: Buffer, source: DatagramSource): void {
    if (source.address === this.remoteAddress && source.port === this.remotePort) this.receiver?.onClientDatagram(bytes);
    // Between bind() and connect() anybody's may have come.
    else this.listener.onDatagram(bytes, source, source.to ?? this.ends.to);
  }

  onSocketError({ code, message }: NodeJS.ErrnoException): void {
    // The client has closed its port: a session ends by its time limit, as it does where a listener sends.
    if (code !== 'ECONNREFUSED') this.receiver?.onClientLost(message);
  }
}
