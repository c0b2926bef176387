import net, { type Socket } from 'node:net';
import { systemErrorText } from '../module/system-error.js';
import { isOutOfDescriptors } from './descriptors.js';
import { ReadMemory } from './read-memory.js';
import type { ConnectTarget, TlsClient } from './tls-client.js';
import type { Timed } from './timers.js';
import type { NetContext } from './net-context.js';

/** Whoever uses a connection to a member at the moment. */
export interface PeerUser {
  onConnected(): void;
  /** @param borrowed the bytes are only valid during the call. */
  onUpstreamData(chunk: Buffer, borrowed: boolean): void;
  onUpstreamDrain(): void;
  /** The member sent FIN. */
  onUpstreamEnd(): void;
  /** The connection is gone; `reason` as the system tells it, empty for an orderly close. */
  onUpstreamClosed(reason: string): void;
  onUpstreamTimeout(): void;
}

/**
 * One connection to a member. Reads go into the thread's shared buffer while responses are small; with a large body it changes to buffers of
 * its own, which the client's socket may keep until they are sent (see ReadBuffers).
 */
export class PeerConnection implements Timed {
  deadline = 0;
  slot = -1;
  readonly socket: Socket;
  user: PeerUser | undefined = undefined;
  requests = 0;
  /** Bytes sent for the present user. */
  bytesSent = 0;
  readonly createdAt: number;
  connected = false;
  /** There was no descriptor for it: the member has nothing to do with that. */
  outOfDescriptors = false;
  /** What it reads into, unless it speaks TLS. */
  readonly memory: ReadMemory;
  #reason = '';
  #isReached = false;
  #onIdleClosed: ((connection: PeerConnection) => void) | undefined = undefined;

  constructor(
    peer: { readonly address: ConnectTarget },
    readonly context: NetContext,
    /** Undefined: it does not speak TLS. */
    readonly tls: TlsClient | undefined,
    /** What the certificate is for. */
    readonly tlsName: string,
    /** Sent in front of the handshake of TLS. */
    readonly preamble = '',
  ) {
    this.createdAt = context.clock.now;
    this.memory = new ReadMemory(context.buffers);
    const { address } = peer;
    const target = 'path' in address ? { path: address.path } : targetOf(address);
    if (tls !== undefined) this.socket = tls.connect(target, peer, tlsName, preamble, () => this.#ready());
    else
      this.socket = net.connect(
        {
          ...target,
          noDelay: true,
          allowHalfOpen: true,
          onread: { buffer: () => this.memory.next(), callback: (length, buffer) => this.#read(length, buffer) },
        },
        () => this.#ready(),
      );
    if (tls !== undefined) this.socket.once('connect', () => (this.#isReached = true));
    if (tls !== undefined) this.socket.on('data', (chunk: Buffer) => this.#deliver(chunk, false));
    this.socket.on('end', () => this.#ended());
    this.socket.on('error', (error) => {
      this.outOfDescriptors = isOutOfDescriptors(error);
      this.#reason = this.#reasonOf(error);
    });
    this.socket.on('close', () => this.#closed());
    this.socket.on('drain', () => {
      context.clock.refresh();
      this.user?.onUpstreamDrain();
    });
  }

  /** The body that follows is large: reads get memory that may be kept. */
  wantOwnBuffers(): void {
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

  /** Between two requests: back to the shared buffer. */
  park(onClosed: (connection: PeerConnection) => void): void {
    this.user = undefined;
    // How long it may be idle is the pool's business.
    this.context.timers.disarm(this);
    this.#onIdleClosed = onClosed;
    this.memory.useOwn(false);
  }

  reuse(user: PeerUser): void {
    this.#onIdleClosed = undefined;
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
    this.#onIdleClosed = undefined;
    this.context.timers.forget(this);
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

  #ready(): void {
    this.connected = true;
    this.context.clock.refresh();
    this.user?.onConnected();
  }

  #read(length: number, buffer: Uint8Array): boolean {
    this.#deliver((buffer as Buffer).subarray(0, length), true);
    return true;
  }

  #deliver(chunk: Buffer, borrowed: boolean): void {
    this.context.clock.refresh();
    if (this.user === undefined) this.#unexpected();
    else this.user.onUpstreamData(chunk, borrowed);
  }

  /** Bytes, an end, or a deadline while nobody asked for anything: the connection cannot be used any more. */
  #unexpected(): void {
    const notify = this.#onIdleClosed;
    this.close();
    notify?.(this);
  }

  #ended(): void {
    this.context.clock.refresh();
    if (this.user === undefined) this.#unexpected();
    else this.user.onUpstreamEnd();
  }

  #reasonOf(error: NodeJS.ErrnoException): string {
    // TLS has failed, and the member is there.
    if (this.tls !== undefined && !this.connected && error.syscall === undefined) return handshakeFailure(error);
    const call = this.outOfDescriptors ? 'socket()' : this.connected ? 'recv()' : 'connect()';
    return `${call} failed (${systemErrorText(error)})`;
  }

  #closed(): void {
    this.context.timers.forget(this);
    const { user } = this;
    this.user = undefined;
    if (user === undefined) this.#unexpected();
    else user.onUpstreamClosed(this.#reason);
  }
}

type TcpTarget = Exclude<ConnectTarget, { readonly path: string }>;

/** Addresses have further properties in other places, which `net.connect` would understand in its own way. */
function targetOf({ host, port, localAddress, localPort }: TcpTarget): TcpTarget {
  return localAddress === undefined ? { host, port } : { host, port, localAddress, ...(localPort !== undefined && { localPort }) };
}

/** In nginx's words. */
function handshakeFailure({ code = 'ERR_', message }: NodeJS.ErrnoException): string {
  if (message.startsWith('upstream SSL certificate')) return message;
  // For what OpenSSL says about a certificate Node's codes are OpenSSL's names, and the message may go on with advice for users of Node.
  const isAboutCertificate = !code.startsWith('E');
  return isAboutCertificate
    ? `upstream SSL certificate verify error: (${message.split(';', 1)[0]})`
    : `SSL_do_handshake() failed (${message})`;
}
