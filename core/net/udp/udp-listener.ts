import { setImmediate, setTimeout } from 'node:timers/promises';
import { systemErrorText } from '../../contract/system-error.js';
import type { NetContext } from '../net-context.js';
import { UdpFlow } from './udp-flow.js';
import type { DatagramEnds, DatagramReceiver, Datagrams, DatagramSource } from '../transport/datagrams.js';

/** A turn of the event loop that took no longer left no time for a datagram to come. Milliseconds. */
const CALM_TURN = 0.1;
/** Under a load that never pauses the socket is closed after as many milliseconds; flows that need it have ended by then, or end. */
const CALM_LIMIT = 500;
const DETACHED_POLL = 20;

/** Where it listens, and how. */
export interface UdpListenOptions {
  /** `127.0.0.1:53`, `[::]:53` */
  readonly address: string;
  readonly host: string;
  readonly port: number;
  readonly ipv6Only: boolean;
  /** Bytes; undefined: the system's default. */
  readonly receiveBuffer: number | undefined;
  readonly sendBuffer: number | undefined;
}

/** The traffic engine of a listener. */
export interface DatagramServer {
  /** A client that has no flow has sent a datagram. False: there is no room for a session, and the datagram is dropped. */
  admitFlow(): boolean;
  /** Begins the session of a flow: sets its receiver, and closes it in the end. */
  serveFlow(flow: UdpFlow, first: Buffer): void;
}

/**
 * One UDP socket of one thread on an address. Datagrams of one client belong together, until their session ends.
 * The system sends all datagrams of a client to the same worker, as long as the number of workers stays the same.
 */
export class UdpListener implements DatagramReceiver {
  #socket: Datagrams | undefined;
  /** Flows that accept datagrams, by {@link DatagramSource.sender} and the address that they come to. */
  readonly #flows = new Map<string, UdpFlow>();
  /** They take no more datagrams, but responses may still come. */
  readonly #detached = new Set<UdpFlow>();
  #received = 0;
  #isShared = false;

  constructor(
    private readonly options: UdpListenOptions,
    private readonly context: NetContext,
    private readonly server: DatagramServer,
  ) {}

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  /** Number of the open socket. */
  get descriptor(): number | undefined {
    return this.#socket?.descriptor;
  }

  /** The port that it is bound to. */
  get port(): number {
    return this.#socket?.port ?? 0;
  }

  /** Datagrams to clients that were dropped because too many waited to be sent. */
  get dropped(): number {
    return this.#socket?.dropped ?? 0;
  }

  /**
   * Opens the socket.
   * @param shared SO_REUSEPORT: every worker has one of its own on this address.
   * @param descriptor of a socket that is bound already
   * @throws Error of the system: EADDRINUSE, EACCES …
   */
  open(shared: boolean, descriptor?: number): void {
    this.#isShared = shared;
    this.#socket = this.#bind(this, this.options.port, descriptor);
  }

  /** See {@link Datagrams.sendTo}. */
  sendTo(bytes: Buffer, ends: DatagramEnds): boolean {
    return this.#socket?.sendTo(bytes, ends) ?? false;
  }

  /** See {@link UdpFlow.detach}. */
  detach(flow: UdpFlow): void {
    if (this.#flows.get(flow.key) !== flow) return;
    this.#flows.delete(flow.key);
    this.#detached.add(flow);
  }

  /** The session of a flow has ended. */
  remove(flow: UdpFlow): void {
    if (this.#flows.get(flow.key) === flow) this.#flows.delete(flow.key);
    else this.#detached.delete(flow);
  }

  /**
   * Closes the socket. Flows go on, each with a socket of its own: they would have no way to their clients otherwise, and what these send
   * would begin other sessions in other workers.
   */
  async drain(): Promise<void> {
    await this.#becomeCalm();
    this.moveFlows();
    // Datagrams received meanwhile are of clients whose flows had no socket yet, or of new ones.
    await this.#becomeCalm();
    this.moveFlows();
    this.close();
    for (const flow of this.#detached) flow.receiver?.onClientLost('the address is closed');
  }

  /** Gives each flow a socket of its own: what another program reads from the listener's is of new clients then. */
  moveFlows(): void {
    const { port } = this;
    if (this.isOpen) for (const flow of this.#flows.values()) flow.moveTo((receiver, host) => this.#bind(receiver, port, undefined, host));
  }

  /** Closes the socket at once. */
  close(): void {
    this.#socket?.close();
    this.#socket = undefined;
  }

  /** @param to own address that it was sent to, if the socket is not that of the listener */
  onDatagram(bytes: Buffer, source: DatagramSource, to = source.to): void {
    if (!this.isOpen) return;
    this.#received++;
    this.context.clock.refresh();
    const key = to === undefined ? source.sender : `${source.sender} ${to}`;
    const flow = this.#flows.get(key);
    if (flow === undefined) this.#begin(key, { address: source.address, port: source.port, to }, bytes);
    else flow.receiver?.onClientDatagram(bytes);
  }

  onDropped(error: Error): void {
    this.context.admission.dropped(error, `clients of ${this.options.address}`);
  }

  onSocketError(error: NodeJS.ErrnoException): void {
    this.context.log.write('alert', `recvmsg() on ${this.options.address} failed (${systemErrorText(error)})`);
  }

  #begin(key: string, ends: DatagramEnds, first: Buffer): void {
    // No system sends from port 0: a response would be an error.
    if (ends.port === 0 || !this.server.admitFlow()) return;
    const flow = new UdpFlow(this, key, ends);
    this.#flows.set(key, flow);
    this.server.serveFlow(flow, first);
  }

  #bind(receiver: DatagramReceiver, port: number, descriptor?: number, host = this.options.host): Datagrams {
    const { ipv6Only, receiveBuffer, sendBuffer } = this.options;
    const reportsDestination = host === '0.0.0.0' || host === '::';
    const options = { reusePort: this.#isShared, ipv6Only, reportsDestination, receiveBuffer, sendBuffer };
    const socket = this.context.transport.datagrams(host, receiver, options);
    try {
      if (descriptor === undefined) socket.bind(host, port);
      else socket.adopt(descriptor);
      return socket;
    } catch (error) {
      socket.close();
      throw error;
    }
  }

  /** Datagrams in the socket would be lost with it, also when other workers have one on the same address. */
  async #becomeCalm(): Promise<void> {
    const { clock } = this.context;
    const until = clock.refresh() + CALM_LIMIT;
    for (let calm = false; !calm && clock.refresh() < until;) {
      while (this.#detached.size > 0 && clock.refresh() < until) await setTimeout(DETACHED_POLL);
      const [received, since] = [this.#received, performance.now()];
      await setImmediate();
      calm = received === this.#received && performance.now() - since < CALM_TURN;
    }
  }
}
