import { STREAM_OK, type SessionClient } from '../../contract/stream.js';
import type { FlowReceiver, UdpFlow } from '../../net/udp/udp-flow.js';
import type { ClientEnd } from '../session/client-end.js';
import type { StreamContext } from '../session/context.js';
import type { Session } from '../session/session.js';

/** Bytes of datagrams that wait until the content takes them; more are dropped. */
const MOST_HELD = 131_072;
const NOTHING = Buffer.alloc(0);

/** Parts of the address that a client needs. */
interface UdpClientListener {
  readonly options: { readonly host: string; readonly port: number };
  readonly connections: Set<UdpClient>;
}

/**
 * The datagrams of one client. Datagrams received before the content handler takes it over are kept; a relay becomes the receiver of the
 * flow itself.
 */
export class UdpClient implements ClientEnd, FlowReceiver, SessionClient {
  readonly protocol = 'UDP';
  readonly hasEnded = false;
  readonly secure = false;
  readonly serverName = undefined;
  readonly tls = undefined;
  readonly proxy = undefined;
  readonly certificate = undefined;
  readonly clientAuthority = undefined;
  #session: Session | undefined = undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #waits = false;

  constructor(
    readonly id: number,
    private readonly listener: UdpClientListener,
    private readonly context: StreamContext,
    readonly flow: UdpFlow,
  ) {}

  get facts(): SessionClient {
    return this;
  }
  get remoteAddress(): string {
    return this.flow.remoteAddress;
  }
  get remotePort(): number {
    return this.flow.remotePort;
  }
  /** Of the listener, where the system does not tell which address of the machine a datagram was sent to. */
  get localAddress(): string {
    return this.flow.localAddress ?? this.listener.options.host;
  }
  get localPort(): number {
    return this.listener.options.port;
  }
  /** Epoch milliseconds. */
  get startTime(): number {
    return this.#session?.startTime ?? 0;
  }

  /** @param first the datagram that the session begins with */
  start(session: Session, first: Buffer): void {
    this.#session = session;
    this.listener.connections.add(this);
    this.flow.receiver = this;
    this.#hold(first, session);
    session.continue();
  }

  prepare(): boolean {
    return true;
  }

  get held(): Buffer {
    const [first = NOTHING] = this.#held;
    return this.#held.length > 1 ? Buffer.concat(this.#held) : first;
  }

  /** The kept datagrams go to another user, which receives the next ones from now on. */
  takeHeld(receiver: FlowReceiver): readonly Buffer[] {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    this.flow.receiver = receiver;
    return held;
  }

  waitForMore(): void {
    this.#waits = true;
  }

  endWait(): void {
    this.#waits = false;
  }

  send(bytes: Uint8Array, then: () => void): void {
    this.flow.send(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    then();
  }

  close(): void {
    this.#held = [];
    this.flow.close();
    this.listener.connections.delete(this);
    this.context.figures.countClosed();
  }

  /** Ends the session, whatever it is doing. */
  cutOff(): void {
    this.#session?.end(STREAM_OK);
  }

  onClientDatagram(bytes: Buffer): void {
    const session = this.#session;
    if (session === undefined) return;
    this.#hold(bytes, session);
    if (!this.#waits) return;
    this.#waits = false;
    session.continue();
  }

  onClientLost(reason: string): void {
    const session = this.#session;
    if (session === undefined) return;
    this.context.log.write('info', `client lost: ${reason}`, session);
    session.end(STREAM_OK);
  }

  #hold(bytes: Buffer, session: Session): void {
    if (this.#heldBytes + bytes.length > MOST_HELD) return;
    session.bytesReceived += bytes.length;
    // An empty one costs memory as well.
    this.#heldBytes += bytes.length + 64;
    this.#held.push(Buffer.from(bytes));
  }
}
