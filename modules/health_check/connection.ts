import type { Address } from '../../core/contract/address.js';
import type { ModuleSocket, SocketError, Sockets, SocketTls, SocketUser } from '../../core/contract/sockets.js';
import { timedOut, type CheckFailure } from './probe.js';

/** Shared parts of the connections of all checks. */
export interface ConnectionMeans {
  readonly sockets: Sockets;
}

/** Common parts of all connections of one kind of check. */
export interface ConnectionOptions {
  /** Undefined: no TLS. */
  readonly tls: SocketTls | undefined;
  readonly means: ConnectionMeans;
}

/** A connection for one check. */
export abstract class CheckConnection implements SocketUser {
  protected step = 'connecting to upstream';
  readonly #socket: ModuleSocket;
  #isOver = false;

  constructor(
    address: Address,
    { tls, means }: ConnectionOptions,
    private readonly done: (failure: CheckFailure | undefined) => void,
  ) {
    this.#socket = means.sockets.connect(address, this, tls);
  }

  expire(): CheckFailure {
    this.cancel();
    return timedOut(this.step);
  }

  cancel(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  /** Both sides are connected. */
  protected abstract opened(): void;
  /** @param chunk its bytes are valid during the call */
  protected abstract read(chunk: Buffer): void;
  /** Nothing more will come. */
  protected abstract ended(): void;

  /** @param sent called when the bytes have left */
  protected write(bytes: string | Buffer, sent?: () => void): void {
    this.#socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes, sent);
  }

  /** The check is over. */
  protected finish(failure: CheckFailure | undefined): void {
    if (this.#isOver) return;
    this.cancel();
    this.done(failure);
  }

  // The connection's side.

  onReached(): void {
    this.step = 'SSL handshaking to upstream';
  }

  onOpen(): void {
    if (!this.#isOver) this.opened();
  }

  onData(chunk: Buffer): void {
    if (!this.#isOver) this.read(chunk);
  }

  onEnd(): void {
    if (!this.#isOver) this.ended();
  }

  onClosed(failure: SocketError | undefined): void {
    this.finish(failure === undefined ? { reason: 'connection closed', step: this.step } : connectionFailure(failure, this.step));
  }
}

/** Why a connection has failed. */
export function connectionFailure({ failure, message }: SocketError, step: string): CheckFailure {
  switch (failure) {
    case 'shortage':
      return { reason: message, step, isOwn: true };
    case 'handshake':
      return { reason: 'SSL handshake failed', step };
    case 'certificate':
      return { reason: certificateFailure(message), step };
    case 'network':
    case 'rejected':
      return { reason: message, step };
  }
}

/** In fewer words than those of nginx, and without its number and the name. */
function certificateFailure(message: string): string {
  const [, problem] = /\((?:\d+:)?(.*)\)$/.exec(message) ?? [];
  return problem === undefined ? 'SSL certificate does not match the name' : `SSL certificate verify error: (${problem})`;
}
