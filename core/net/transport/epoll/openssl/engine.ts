import type * as Ffi from 'node:ffi';
import type { SystemCalls } from '../calls.js';
import type { OpenTls } from '../../open-tls.js';
import type { TlsContext } from '../../tls-context.js';
import { Callbacks } from './callbacks.js';
import { makeContext } from './context.js';
import { choosesGroups, groupsWithKeyFor } from './key-shares.js';
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
  /** By the group that a key is made for. */
  readonly #contexts = new WeakMap<TlsContext, Map<number, Handle>>();
  readonly #ended: FinalizationRegistry<Handle>;
  #waiting: Later[] = [];
  /** Handshakes that wait for their time, in their order, from {@link #next} on. */
  #handshakes: Later[] = [];
  #next = 0;
  #isTurn = false;
  #isPlanned = false;
  /** Milliseconds of this turn that handshakes have used, and when the turn ends. */
  #used = 0;

  /** @throws Error where OpenSSL is otherwise */
  constructor(
    ffi: typeof Ffi,
    readonly calls: SystemCalls,
    readonly made: OpenTls,
  ) {
    this.ssl = new OpenSsl(ffi);
    this.callbacks = new Callbacks(this.ssl);
    // Connections have references of their own.
    this.#ended = new FinalizationRegistry((context) => {
      made.deleteContext(context);
      this.ssl.c.SSL_CTX_free(context);
      this.contexts--;
    });
  }

  /**
   * @param group see {@link ClientHandshake.group}
   * @throws Error of OpenSSL for certificates, keys and ciphers that cannot be used
   */
  contextOf(context: TlsContext, group = 0): Handle {
    const known = this.#contexts.get(context)?.get(group);
    return known ?? this.#make(context, group);
  }

  #make(context: TlsContext, group: number): Handle {
    const { options } = context;
    const groups = group === 0 || choosesGroups(options) ? undefined : groupsWithKeyFor(group);
    if (group !== 0 && groups === undefined) return this.contextOf(context);
    const made = makeContext(this.ssl, groups === undefined ? options : { ...options, ecdhCurve: groups }, this.callbacks);
    this.made.addContext(made);
    const all = this.#contexts.get(context) ?? new Map<number, Handle>();
    this.#contexts.set(context, all.set(group, made));
    this.#ended.register(context, made);
    this.contexts++;
    return made;
  }

  /** Handshakes have used their time of this turn, or others came first: one that would go on waits, see {@link postpone}. */
  get isBusy(): boolean {
    return this.#used > TURN || (!this.#isTurn && this.#next < this.#handshakes.length);
  }

  /** Goes on with a handshake after the ones that were postponed before. */
  postpone(one: Later): void {
    this.#handshakes.push(one);
    this.#plan();
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
    this.#isTurn = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    let next = 0;
    try {
      while (next < waiting.length) waiting[next++]?.onTurn();
      this.#goOn();
    } finally {
      this.#isTurn = false;
      // One has failed: the others go on.
      if (next < waiting.length) {
        this.#waiting = [...waiting.slice(next), ...this.#waiting];
        this.#plan();
      }
      if (this.#next < this.#handshakes.length) this.#plan();
    }
  };

  /** Postponed handshakes, as far as their time goes. */
  #goOn(): void {
    const end = this.#handshakes.length;
    while (this.#next < end && this.#used <= TURN) this.#handshakes[this.#next++]?.onTurn();
    if (this.#next < this.#handshakes.length / 2) return;
    this.#handshakes = this.#handshakes.slice(this.#next);
    this.#next = 0;
  }
}
