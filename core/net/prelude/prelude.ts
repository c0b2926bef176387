import type { AcceptedConnection } from '../accepted-connection.js';
import type { NetContext } from '../net-context.js';
import type { ConnectionUser } from '../transport/connection.js';
import type { Timed } from '../timers.js';

/** Goes on when a prelude is over. */
export interface PreludeEnd {
  /** @param rest bytes that belong to what follows */
  done(connection: AcceptedConnection, rest: Buffer | undefined): void;
  /** The connection is to be closed. @param reason for the log, followed by what was under way; undefined: nothing to tell */
  failed(connection: AcceptedConnection, level: 'info' | 'error', reason: string | undefined): void;
}

/** Data of a client before the first byte of the engine's protocol. It has one deadline for all of it. */
export abstract class Prelude implements ConnectionUser, Timed {
  deadline = 0;
  slot = -1;

  constructor(
    protected readonly connection: AcceptedConnection,
    protected readonly context: NetContext,
    private readonly next: PreludeEnd,
    /** Current step, for the log: `while SSL handshaking`. */
    private readonly during: string,
  ) {}

  /** @param timeout milliseconds */
  start(timeout: number): void {
    this.connection.socket.client = this;
    this.context.timers.arm(this, timeout);
  }

  abstract onData(chunk: Buffer, borrowed: boolean): void;

  onEnd(): void {
    this.fail('info', `client closed connection ${this.during}`);
  }
  onClose(): void {
    this.onEnd();
  }
  onDrain(): void {}
  onDeadline(): void {
    this.fail('info', `client timed out (110: Connection timed out) ${this.during}`);
  }

  protected finish(rest: Buffer | undefined): void {
    this.context.timers.forget(this);
    this.connection.socket.client = undefined;
    this.next.done(this.connection, rest);
  }

  protected fail(level: 'info' | 'error', reason: string | undefined): void {
    this.context.timers.forget(this);
    this.connection.socket.client = undefined;
    this.next.failed(this.connection, level, reason);
  }
}
