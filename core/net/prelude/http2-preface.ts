import type { AcceptedConnection } from '../accepted-connection.js';
import { PREFACE } from '../http2/protocol.js';
import type { IdleClient } from '../idle-clients.js';
import type { NetContext } from '../net-context.js';
import { Prelude, type PreludeEnd } from './prelude.js';

/** Bytes that tell the preface of HTTP/2 from a request: no method of HTTP/1 looks like that. */
const DISTINCT = 'PRI * HTTP/2'.length;

/**
 * Distinguishes HTTP/2 from HTTP/1 by the first bytes of a connection without TLS (prior knowledge, RFC 9113, 3.3). They stay what they are: the
 * protocol that was found reads them. A connection that is silent here is an idle one, as one between two requests.
 */
export class Http2Preface extends Prelude implements IdleClient {
  olderIdle: IdleClient | undefined = undefined;
  newerIdle: IdleClient | undefined = undefined;
  #held: Buffer | undefined = undefined;

  constructor(connection: AcceptedConnection, context: NetContext, next: PreludeEnd) {
    super(connection, context, next, 'while waiting for request');
  }

  override start(timeout: number): void {
    super.start(timeout);
    this.context.idleClients.add(this);
  }

  get isIdle(): boolean {
    return this.#held === undefined;
  }

  drain(): void {
    this.#close();
  }

  onData(chunk: Buffer, borrowed: boolean): void {
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    const length = Math.min(bytes.length, DISTINCT);
    const isPreface = PREFACE.compare(bytes, 0, length, 0, length) === 0;
    const own = bytes === chunk && borrowed ? Buffer.from(bytes) : bytes;
    if (isPreface && length < DISTINCT) {
      this.#held = own;
      return;
    }
    this.connection.prefersHttp2 = isPreface;
    this.#leave(own);
  }

  /** A partial preface is for HTTP/1 to reject. */
  override onEnd(): void {
    const held = this.#held;
    if (held === undefined) {
      this.#close();
      return;
    }
    this.#leave(held);
    this.connection.socket.client?.onEnd();
  }
  override onClose(): void {
    this.#close();
  }
  /** As silently as nginx. */
  override onDeadline(): void {
    this.#close();
  }

  #leave(bytes: Buffer): void {
    this.context.idleClients.remove(this);
    this.finish(bytes);
  }

  #close(): void {
    this.context.idleClients.remove(this);
    this.fail('info', undefined);
  }
}
