import type { SendHandle } from 'node:child_process';
import type { ELSEWHERE, SocketRequest, SocketReservations } from '../net/socket-source.js';

/** A socket that another process has bound for this one. */
export interface BoundSocket {
  readonly descriptor: number;
  /** A worker has the descriptor from now on, and closes it. */
  passOn(): void;
  /** It has no user. */
  close(): void;
}

/** One that can be passed on to another process. */
export interface SendableSocket extends BoundSocket {
  /** For `send` of a child process. */
  readonly handle: SendHandle;
}

/** Sockets that outlive the workers that listen on them. */
export interface BoundSockets extends SocketReservations {
  /**
   * The socket of a worker, the same one whenever it asks.
   * @param worker its number
   * @returns undefined: the worker binds for itself; {@link ELSEWHERE}: another one listens there
   * @throws Error of the system
   */
  open(request: SocketRequest, worker: number): Promise<BoundSocket | typeof ELSEWHERE | undefined>;
  /** Workers from this number on are about to end. Resolves when only they hold their sockets: these close with the queues empty. */
  releaseWorkers(from: number): Promise<void>;
}
