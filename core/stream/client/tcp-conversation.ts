import { STREAM_OK, type Conversation, type ConversationOptions } from '../../contract/stream.js';
import type { Connection, ConnectionUser } from '../../net/transport/connection.js';
import type { Timed } from '../../net/timers.js';
import type { SessionOwner } from '../session/session-owner.js';
import type { Session } from '../session/session.js';

/** The connection, which holds what was not read yet. */
interface HeldClient extends ConnectionUser {
  readonly socket: Connection;
  readonly held: Buffer;
  readonly hasEnded: boolean;
  takeHeld(): Buffer;
  putBack(bytes: Buffer): void;
}

/**
 * A module that speaks with the client of a session over TCP. It is the user of the socket, which is read only while the module waits for bytes, until
 * the session ends or a relay takes it over.
 */
export class TcpConversation implements Conversation, SessionOwner, ConnectionUser, Timed {
  deadline = 0;
  slot = -1;
  /** Settles the promise of {@link read}. */
  #received: ((bytes: Buffer | undefined) => void) | undefined = undefined;
  #drained: PromiseWithResolvers<void> | undefined = undefined;

  constructor(
    private readonly session: Session,
    private readonly client: HeldClient,
    private readonly options: ConversationOptions,
  ) {}

  start(): this {
    const { session, client } = this;
    session.owner = this;
    client.socket.client = this;
    this.#touch();
    return this;
  }

  // For the module.

  read(): Promise<Buffer | undefined> {
    const { client } = this;
    if (this.#received !== undefined) return Promise.reject(new Error('the read before has not been settled yet'));
    if (!this.#isOpen) return Promise.resolve(undefined);
    if (client.held.length > 0) return Promise.resolve(client.takeHeld());
    if (client.hasEnded) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
    this.#received = resolve;
    if (client.socket.isPaused()) client.socket.resume();
    return promise;
  }

  unread(bytes: Buffer): void {
    if (this.#isOpen) this.client.putBack(bytes);
  }

  write(data: string | Uint8Array): boolean {
    if (!this.#isOpen) return true;
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    this.session.bytesSent += bytes.length;
    this.#touch();
    return this.client.socket.write(bytes);
  }

  drained(): Promise<void> {
    if (!this.#isOpen || !this.client.socket.writableNeedDrain) return Promise.resolve();
    this.#drained ??= Promise.withResolvers<void>();
    return this.#drained.promise;
  }

  // The socket.

  onData(chunk: Buffer, borrowed: boolean): void {
    const { client } = this;
    this.#touch();
    client.onData(chunk, borrowed);
    if (this.#received === undefined) client.socket.pause();
    else if (client.held.length > 0) this.#settle(client.takeHeld());
  }

  onEnd(): void {
    this.client.onEnd();
    this.#settle(undefined);
  }

  onClose(): void {
    this.client.onClose();
  }

  onDrain(): void {
    this.#touch();
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  /** No byte has moved for the idle time. */
  onDeadline(): void {
    const { session } = this;
    session.context.log.write('info', 'client timed out (110: Connection timed out) while a module speaks with it', session);
    session.end(STREAM_OK);
  }

  /** A relay takes the session over. */
  leave(): void {
    this.stop();
  }

  stop(): void {
    const { session, client } = this;
    session.context.timers.forget(this);
    if (client.socket.client === this) client.socket.client = client;
    if (session.owner === this) session.owner = undefined;
    this.#settle(undefined);
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  get #isOpen(): boolean {
    return this.session.owner === this;
  }

  #settle(bytes: Buffer | undefined): void {
    const received = this.#received;
    this.#received = undefined;
    received?.(bytes);
  }

  #touch(): void {
    this.session.context.timers.arm(this, this.options.idleTimeout);
  }
}
