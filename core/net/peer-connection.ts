import { parseSource } from '../contract/address.js';
import { systemErrorText } from '../contract/system-error.js';
import { isOutOfDescriptors } from './descriptors.js';
import { ReadMemory } from './read-memory.js';
import { fromSource } from './source-address.js';
import { handshakeFailure, type TlsClient } from './tls-client.js';
import type { ConnectionTls } from '../contract/client-connection.js';
import type { Connection } from './transport/connection.js';
import type { ClientHandshake, OtherSide, TlsConnectingUser } from './transport/tls.js';
import { rejectedConnection, type Target } from './transport/transport.js';
import type { Timed } from './timers.js';
import type { NetContext } from './net-context.js';

/** Current user of a connection to a member. */
export interface PeerUser {
  onConnected(): void;
  /** @param borrowed the bytes are only valid during the call. */
  onUpstreamData(chunk: Buffer, borrowed: boolean): void;
  onUpstreamDrain(): void;
  /** The member sent FIN. */
  onUpstreamEnd(): void;
  /** The connection is gone; `reason` as reported by the system, empty for an orderly close. */
  onUpstreamClosed(reason: string): void;
  onUpstreamTimeout(): void;
}

/**
 * One connection to a member. Reads go into the thread's shared buffer while responses are small; with a large body it changes to buffers of
 * its own, which the client's socket may keep until they are sent (see ReadBuffers).
 */
export class PeerConnection implements TlsConnectingUser, Timed {
  deadline = 0;
  slot = -1;
  readonly socket: Connection;
  user: PeerUser | undefined = undefined;
  requests = 0;
  /** Bytes sent for the present user. */
  bytesSent = 0;
  readonly createdAt: number;
  connected = false;
  /** How bad it is that there was no descriptor for it, or not its source: the member has nothing to do with that. Undefined: it is not so. */
  ownFailure: 'alert' | 'crit' | undefined = undefined;
  /** How bad it is that it failed. */
  failureLevel: 'error' | 'crit' = 'error';
  /** The protocol that ALPN has chosen. */
  alpn: string | undefined = undefined;
  /** Memory of reads, but for TLS by Node.js. */
  readonly memory: ReadMemory;
  #reason = '';
  #isReached = false;
  /** It counts against worker_connections. */
  readonly #hasPlace: boolean;
  /** Of the listeners of the control plane that it does not lead to. */
  #checkedVersion: number;

  constructor(
    private readonly peer: { readonly address: Target },
    readonly context: NetContext,
    /** Undefined: it does not speak TLS. */
    readonly tls: TlsClient | undefined,
    /** Name that the certificate must have. */
    readonly tlsName: string,
    /** Sent in front of the handshake of TLS. */
    readonly preamble = '',
    /** Most bytes of a read before the body is known to be large. */
    firstRead = Infinity,
    /** Where it comes from (proxy_bind); empty: the system chooses. */
    readonly source = '',
  ) {
    this.createdAt = context.clock.now;
    this.memory = new ReadMemory(context.buffers, firstRead);
    const address = fromSource(peer.address, source === '' ? undefined : parseSource(source));
    const target = 'path' in address ? { path: address.path } : targetOf(address);
    this.#checkedVersion = context.controlListeners.version;
    const rejection = rejectionOf(context, target);
    this.#hasPlace = rejection === undefined;
    if (rejection !== undefined) this.socket = rejectedConnection(rejection, this);
    else if (tls === undefined) this.socket = context.transport.connect(target, this.memory, this);
    else this.socket = context.transport.connectTls(target, this.memory, this);
  }

  /** The body that follows is large: reads get memory that may be kept. @param most bytes of a read */
  wantOwnBuffers(most: number): void {
    this.memory.limit(most);
    this.memory.useOwn(true);
  }

  /** See {@link ReadMemory.keep}. */
  keepBuffer(): Buffer | undefined {
    return this.memory.keep();
  }

  /** It is connected, and TLS is not agreed on yet, or never was. */
  get isHandshaking(): boolean {
    return this.tls !== undefined && !this.connected && this.#isReached;
  }

  get hasOwnBuffer(): boolean {
    return this.memory.isOwn;
  }

  /** Between two requests: back to the shared buffer. How long it may be idle is the business of its user. */
  rest(): void {
    this.context.timers.disarm(this);
    this.memory.useOwn(false);
  }

  /** True if an idle connection may still be used: the control plane may have become what it must not lead to. */
  isAllowed(address: Target): boolean {
    const { controlListeners } = this.context;
    const { version } = controlListeners;
    if (version === this.#checkedVersion) return true;
    this.#checkedVersion = version;
    return !controlListeners.isReachedBy(address);
  }

  reuse(user: PeerUser): void {
    this.user = user;
    this.bytesSent = 0;
  }

  /** Sends text of single bytes (latin1). */
  write(text: string): void {
    this.bytesSent += text.length;
    this.socket.write(text, 'latin1');
  }

  /** @param taken called when the socket needs the bytes no more, also because it was closed */
  writeBytes(bytes: Buffer, taken?: () => void): void {
    this.bytesSent += bytes.length;
    this.socket.write(bytes, taken);
  }

  /** Ends it without telling anyone. */
  close(): void {
    this.user = undefined;
    this.context.timers.forget(this);
    this.memory.abandon();
    this.socket.destroy();
  }

  /** Ends it when everything written is out, or after `limit` milliseconds. */
  closeSoon(limit: number): void {
    this.user = undefined;
    this.context.timers.arm(this, limit);
    this.socket.destroySoon();
  }

  onDeadline(): void {
    if (this.user === undefined) this.#unexpected();
    else this.user.onUpstreamTimeout();
  }

  // The socket's side.

  onConnect(): void {
    if (this.tls === undefined) this.#connected();
    else this.#isReached = true;
  }

  handshake(): ClientHandshake {
    return (this.tls as TlsClient).handshake(this.peer, this.tlsName);
  }

  onSecured({ alpn, group }: ConnectionTls, other: OtherSide): void {
    this.tls?.noteGroup(this.peer, group);
    const problem = this.tls?.problemOf(other, this.tlsName);
    this.alpn = alpn;
    if (problem === undefined) this.#connected();
    else this.#giveUp(problem);
  }

  onNotSecured(reason: string): void {
    this.#giveUp(handshakeFailure(reason));
  }

  #giveUp(reason: string): void {
    this.#reason = reason;
    this.socket.destroy();
  }

  #connected(): void {
    this.connected = true;
    this.context.clock.refresh();
    this.user?.onConnected();
  }

  onData(chunk: Buffer, borrowed: boolean): void {
    this.context.clock.refresh();
    if (this.user === undefined) this.#unexpected();
    else this.user.onUpstreamData(chunk, borrowed);
  }

  onDrain(): void {
    this.context.clock.refresh();
    this.user?.onUpstreamDrain();
  }

  onEnd(): void {
    this.context.clock.refresh();
    if (this.user === undefined) this.#unexpected();
    else this.user.onUpstreamEnd();
  }

  onError(error: NodeJS.ErrnoException): void {
    this.ownFailure = ownFailureOf(error);
    if (this.#isUnixFailure && !REFUSALS.has(error.code ?? '')) this.failureLevel = 'crit';
    this.#reason = this.#reasonOf(error);
    // An error of TLS after the handshake is reported, and the socket stays open (Node's lib/_tls_wrap.js).
    this.socket.destroy();
  }

  onClose(): void {
    this.context.timers.forget(this);
    if (this.#hasPlace) this.context.admission.memberClosed();
    this.memory.abandon();
    const { user } = this;
    this.user = undefined;
    if (user === undefined) this.#unexpected();
    else user.onUpstreamClosed(this.#reason);
  }

  /** Bytes, an end, or a deadline of a connection without a user: it cannot be used any more. */
  #unexpected(): void {
    this.close();
  }

  /** A member at a unix socket cannot be connected to. */
  get #isUnixFailure(): boolean {
    return this.ownFailure === undefined && !this.connected && !this.isHandshaking && 'path' in this.peer.address;
  }

  #reasonOf(error: NodeJS.ErrnoException & { readonly address?: string }): string {
    if (error instanceof NotOpened) return error.message;
    // The handshake could not begin, although the member is reachable.
    if (this.tls !== undefined && !this.connected && error.syscall === undefined) return error.message;
    const own = error.syscall === 'bind' ? `bind(${error.address ?? ''})` : 'socket()';
    const moved = error.syscall?.startsWith('SSL_') === true ? `${error.syscall}()` : 'recv()';
    const { address } = this.peer;
    const connecting = 'path' in address ? `connect() to unix:${address.path}` : 'connect()';
    const call = this.ownFailure !== undefined ? own : this.connected ? moved : connecting;
    return `${call} failed (${systemErrorText(error)})`;
  }
}

/** Failures of connect(2) that a member causes by being down or busy; others are errors of the configuration or the system (as nginx has it). */
const REFUSALS: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAGAIN',
  'ENETDOWN',
  'ENETUNREACH',
  'EHOSTDOWN',
  'EHOSTUNREACH',
]);

/** Of a connection that is not made; it fails as one to a member that does not listen. */
class NotOpened extends Error {}

/** Of one for which the worker has no room. */
class NoPlace extends NotOpened {}

function rejectionOf({ controlListeners, admission }: NetContext, target: Target): NotOpened | undefined {
  const control = controlListeners.rejection(target);
  if (control !== undefined) return new NotOpened(control);
  const shortage = admission.rejectMember();
  return shortage === undefined ? undefined : new NoPlace(shortage);
}

type TcpTarget = Exclude<Target, { readonly path: string }>;

/** Addresses have further properties in other places, which `net.connect` would understand in its own way. */
function targetOf({ host, port, localAddress, localPort }: TcpTarget): TcpTarget {
  return localAddress === undefined ? { host, port } : { host, port, localAddress, ...(localPort !== undefined && { localPort }) };
}

function ownFailureOf(error: NodeJS.ErrnoException): 'alert' | 'crit' | undefined {
  if (error instanceof NoPlace || isOutOfDescriptors(error)) return 'alert';
  return error.syscall === 'bind' ? 'crit' : undefined;
}
