import type { Timed } from '../../net/timers.js';
import { unsentBytes } from '../../net/unsent-bytes.js';
import type { HttpContext } from '../request/context.js';
import type { ClientSocket, SocketUser } from '../../net/socket-user.js';

/** nginx's lingering_time: the longest that is read what nobody wants: the rest of a body, or of a connection that is closed. Milliseconds. */
export const LINGERING_TIME = 30_000;

/**
 * Closes a connection, but reads on for a while and discards what comes: a reset because of unread bytes could overtake the response
 * (RFC 9112, 9.6).
 */
export class LingeringClose implements SocketUser, Timed {
  deadline = 0;
  slot = -1;
  readonly #until: number;
  #unsent = Infinity;

  constructor(
    private readonly socket: ClientSocket,
    private readonly context: HttpContext,
    /** lingering_timeout, send_timeout in milliseconds. */
    private readonly timeouts: { readonly lingering: number; readonly send: number },
    private readonly closed: { onClose(): void },
  ) {
    this.#until = context.clock.now + LINGERING_TIME;
  }

  start(): void {
    this.socket.client = this;
    this.socket.end();
    this.socket.resume();
    this.onData();
  }

  onData(): void {
    const { clock, timers } = this.context;
    timers.arm(this, Math.min(this.timeouts.lingering, Math.max(this.#until - clock.refresh(), 0)));
  }

  onEnd(): void {
    if (this.socket.writableLength === 0) this.socket.destroy();
  }

  onDrain(): void {}

  onClose(): void {
    this.context.timers.forget(this);
    this.closed.onClose();
  }

  /** What is written may still be on its way, for as long as the client consumes some of it in every send_timeout. */
  onDeadline(): void {
    const unsent = unsentBytes(this.socket);
    if (unsent === 0 || unsent >= this.#unsent) {
      this.socket.destroy();
      return;
    }
    this.#unsent = unsent;
    this.context.timers.arm(this, this.timeouts.send);
  }
}
