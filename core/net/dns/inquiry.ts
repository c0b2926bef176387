import type { NameServer } from '../../toolkit/resolver.js';
import type { Dialer } from '../dialer.js';
import type { DnsExchange, ExchangeEnd } from './exchange.js';
import type { Question, DnsReply } from './records.js';
import { codeOf, type ResolveErrorCode } from './resolve-error.js';

const NXDOMAIN = 3;
/** Milliseconds that a server has for its reply before the next one is asked: in the first round, in the second … */
const PATIENCE = [1000, 2000, 4000, 5000];
/** Times that servers are asked of which none is reachable: name servers that are restarted are back soon. */
const UNREACHABLE_ROUNDS = 3;
/** Exchanges that a late reply is still accepted of. */
const MOST_OPEN = 3;

/** A response that says whether the name exists, or the reason why there is none. */
export type InquiryEnd = DnsReply | ResolveErrorCode;

/** The classes of exchanges, which are loaded when the first question is asked. */
export type ExchangeKinds = Pick<typeof import('./exchange.js'), 'DatagramExchange' | 'PlainExchange' | 'StreamExchange'>;

/** Receives which servers reply and which fail. */
export interface ServerWatch {
  replied(server: NameServer): void;
  failed(server: NameServer): void;
}

/**
 * One question, asked until a server replies: one server after the other, the next one at once when one fails, or when it is silent for
 * a while. A round asks each server once. When it is over and a server has said why it fails (SERVFAIL, REFUSED …), that is the end.
 * Ends once, and never while it is made.
 */
export class Inquiry {
  readonly #open = new Set<DnsExchange>();
  /** Exchanges begun. */
  #asked = 0;
  /** Failure of a server of this round. */
  #failure: ResolveErrorCode | undefined;
  /** Servers of this round that are unreachable. */
  #unreachable = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #limit: NodeJS.Timeout;
  #isOver = false;

  /** @param servers one at least, in the order to ask them @param timeout milliseconds for all of it */
  constructor(
    private readonly kinds: ExchangeKinds,
    private readonly dialer: Dialer,
    private readonly servers: readonly NameServer[],
    private readonly question: Question,
    timeout: number,
    private readonly watch: ServerWatch,
    private readonly onEnd: (end: InquiryEnd) => void,
  ) {
    this.#limit = setTimeout(() => this.#end('timedout'), timeout);
    this.#askNext();
  }

  /** Ends with the code `closed`. */
  close(): void {
    this.#end('closed');
  }

  get #round(): number {
    return Math.ceil(this.#asked / this.servers.length);
  }

  get #isRoundOver(): boolean {
    return this.#asked % this.servers.length === 0;
  }

  #askNext(): void {
    const server = this.servers[this.#asked % this.servers.length]!;
    if (this.#isRoundOver) {
      this.#failure = undefined;
      this.#unreachable = 0;
    }
    const number = ++this.#asked;
    this.#begin('DatagramExchange', server, number);
    this.#wait(() => this.#onSilence(server));
  }

  #begin(kind: keyof ExchangeKinds, server: NameServer, number: number): void {
    for (const oldest of this.#open) {
      if (this.#open.size < MOST_OPEN) break;
      oldest.close();
      this.#open.delete(oldest);
    }
    const exchange: DnsExchange = new this.kinds[kind](this.dialer, server, this.question, (end) => {
      this.#open.delete(exchange);
      this.#onExchangeEnd(end, server, number);
    });
    this.#open.add(exchange);
  }

  #wait(next: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(next, PATIENCE[Math.min(this.#round, PATIENCE.length) - 1]);
  }

  #onSilence(server: NameServer): void {
    this.watch.failed(server);
    if (this.#isRoundOver && this.#failure !== undefined) this.#end(this.#failure);
    else this.#askNext();
  }

  #onExchangeEnd(end: ExchangeEnd, server: NameServer, number: number): void {
    if (end === 'truncated' || end === 'respelled') {
      this.#begin(end === 'truncated' ? 'StreamExchange' : 'PlainExchange', server, number);
      if (number === this.#asked) this.#wait(() => this.#onSilence(server));
      return;
    }
    if (typeof end === 'object' && (end.rcode === 0 || end.rcode === NXDOMAIN)) {
      this.watch.replied(server);
      this.#end(end);
      return;
    }
    this.watch.failed(server);
    if (end === 'unreachable') this.#unreachable++;
    else this.#failure = end === 'malformed' ? 'formerr' : codeOf(end.rcode);
    // The one that was asked before it has failed late: the round goes on as it is.
    if (number === this.#asked) this.#goOn();
  }

  /** The server asked last has failed. */
  #goOn(): void {
    if (!this.#isRoundOver) this.#askNext();
    else if (this.#failure !== undefined) this.#end(this.#failure);
    else if (this.#unreachable < this.servers.length) this.#askNext();
    else if (this.#round < UNREACHABLE_ROUNDS) this.#wait(() => this.#askNext());
    else this.#end('unreachable');
  }

  #end(end: InquiryEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#limit);
    for (const exchange of this.#open) exchange.close();
    this.#open.clear();
    this.onEnd(end);
  }
}
