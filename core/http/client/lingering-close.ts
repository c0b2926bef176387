import type { Timed } from '../../net/timers.js';
import { unsentBytes } from '../../net/unsent-bytes.js';
import type { HttpContext } from '../request/context.js';
import type { Lingering } from '../site/location.js';
import type { Connection, ConnectionUser } from '../../net/transport/connection.js';

/**
 * Closes a connection, but reads on for a while and discards what comes: a reset because of unread bytes could overtake the response
 * (RFC 9112, 9.6).
 */
export class LingeringClose implements ConnectionUser, Timed {
  deadline = 0;
  slot = -1;
  readonly #until: number;
  #unsent = Infinity;

  constructor(
    private readonly socket: Connection,
    private readonly context: HttpContext,
    private readonly settings: { readonly lingering: Lingering; readonly sendTimeout: number },
    private readonly closed: { onClose(): void },
  ) {
    this.#until = context.clock.now + settings.lingering.time;
  }

  start(): void {
    this.socket.client = this;
    this.socket.end();
    this.socket.resume();
    this.onData();
  }

  onData(): void {
    const { clock, timers } = this.context;
    timers.arm(this, Math.min(this.settings.lingering.timeout, Math.max(this.#until - clock.refresh(), 0)));
  }

  onEnd(): void {
    if (this.socket.writableLength === 0) this.socket.destroySoon();
  }

  onDrain(): void {}

  onClose(): void {
    this.context.timers.forget(this);
    this.closed.onClose();
  }

  /** Written data may still be on its way, for as long as the client consumes some of it in every send_timeout. */
  onDeadline(): void {
    const unsent = unsentBytes(this.socket);
    if (unsent === 0 || unsent >= this.#unsent) {
      this.socket.destroy();
      return;
    }
    this.#unsent = unsent;
    this.context.timers.arm(this, this.settings.sendTimeout);
  }
}
