import type * as Ffi from 'node:ffi';
import type { SystemCalls } from '../calls.js';
import type { TlsContext } from '../../tls.js';
import { Callbacks } from './callbacks.js';
import { makeContext } from './context.js';
import { OpenSsl, type Handle } from './library.js';

/** How long handshakes may take in one turn of the event loop, in milliseconds: what they hold up waits no longer. */
const TURN = 2;

/** Something that goes on in a later turn of the event loop. */
export interface Later {
  onTurn(): void;
}

/** TLS of one thread by OpenSSL's own functions. */
export class TlsEngine {
  readonly ssl: OpenSsl;
  readonly callbacks: Callbacks;
  /** Objects of connections that are open. */
  open = 0;
  /** Contexts that are not freed yet. */
  contexts = 0;
  readonly #contexts = new WeakMap<TlsContext, Handle>();
  readonly #ended: FinalizationRegistry<Handle>;
  #waiting: Later[] = [];
  #isPlanned = false;
  /** Milliseconds of this turn that handshakes have used, and when the turn ends. */
  #used = 0;

  /** @throws Error where OpenSSL is otherwise */
  constructor(
    ffi: typeof Ffi,
    readonly calls: SystemCalls,
  ) {
    this.ssl = new OpenSsl(ffi);
    this.callbacks = new Callbacks(this.ssl);
    // Connections have references of their own.
    this.#ended = new FinalizationRegistry((context) => {
      this.ssl.c.SSL_CTX_free(context);
      this.contexts--;
    });
  }

  /** @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used */
  contextOf(context: TlsContext): Handle {
    const known = this.#contexts.get(context);
    if (known !== undefined) return known;
    const made = makeContext(this.ssl, context.options, this.callbacks);
    this.#contexts.set(context, made);
    this.#ended.register(context, made);
    this.contexts++;
    return made;
  }

  /** Handshakes have used their time of this turn. */
  get isBusy(): boolean {
    return this.#used > TURN;
  }

  /** @param time milliseconds that a step of a handshake has taken */
  countTime(time: number): void {
    this.#used += time;
    this.#plan();
  }

  /** Goes on in the next turn, in the order of these calls. */
  later(one: Later): void {
    this.#waiting.push(one);
    this.#plan();
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isPlanned = false;
    this.#used = 0;
    const waiting = this.#waiting;
    this.#waiting = [];
    let next = 0;
    try {
      while (next < waiting.length) waiting[next++]?.onTurn();
    } finally {
      // One has failed: the others go on.
      if (next < waiting.length) {
        this.#waiting = [...waiting.slice(next), ...this.#waiting];
        this.#plan();
      }
    }
  };
}
