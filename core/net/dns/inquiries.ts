import { Inquiry, type ExchangeKinds, type InquiryEnd } from './inquiry.js';
import type { NameServer } from '../../toolkit/resolver.js';
import type { Dialer } from '../dialer.js';
import type { Question } from './records.js';
import type { NameServers } from './name-servers.js';

/** Inquiries at a time: each has up to three sockets. */
const MOST = 512;

/** A question under way. When it is closed, nothing is reported any more. */
export interface SentInquiry {
  close(): void;
}

interface Waiting extends SentInquiry {
  readonly question: Question;
  readonly deadline: number;
  readonly onEnd: (end: InquiryEnd) => void;
  inquiry: Inquiry | undefined;
  isClosed: boolean;
}

/** The inquiries of one resolver; the number of those under way is bounded. */
export class Inquiries {
  readonly #running = new Set<Inquiry>();
  readonly #queue = new Set<Waiting>();
  #isClosed = false;
  #kinds: ExchangeKinds | undefined;
  /** Questions have to wait for code, or for the addresses of servers. */
  #isPreparing = false;

  /** @param now monotonic milliseconds */
  constructor(
    private readonly servers: NameServers,
    private readonly dialer: Dialer,
    private readonly now: () => number,
  ) {}

  /** @param deadline by the clock of the constructor @param onEnd is called once, and never before this method has returned */
  ask(question: Question, deadline: number, onEnd: (end: InquiryEnd) => void): SentInquiry {
    const waiting: Waiting = { question, deadline, onEnd, inquiry: undefined, isClosed: false, close: () => this.#leave(waiting) };
    this.#queue.add(waiting);
    if (this.#kinds !== undefined && this.servers.ready() === undefined) this.#startSome(this.#kinds);
    else if (!this.#isPreparing) void this.#prepare();
    return waiting;
  }

  /** Ends all with the code `closed`. */
  close(): void {
    this.#isClosed = true;
    for (const inquiry of this.#running) inquiry.close();
    if (this.#kinds !== undefined) this.#startSome(this.#kinds);
  }

  async #prepare(): Promise<void> {
    this.#isPreparing = true;
    const [kinds] = await Promise.all([import('./exchange.js'), this.servers.ready()]);
    this.#kinds = kinds;
    this.#isPreparing = false;
    this.#startSome(kinds);
  }

  #startSome(kinds: ExchangeKinds): void {
    for (const waiting of this.#queue) {
      if (this.#running.size >= MOST) return;
      this.#queue.delete(waiting);
      const servers = this.servers.inOrder();
      if (this.#isClosed || servers.length === 0) queueMicrotask(() => this.#report(waiting, this.#isClosed ? 'closed' : 'unreachable'));
      else this.#start(waiting, servers, kinds);
    }
  }

  #start(waiting: Waiting, servers: readonly NameServer[], kinds: ExchangeKinds): void {
    const timeout = Math.max(waiting.deadline - this.now(), 0);
    const inquiry = new Inquiry(kinds, this.dialer, servers, waiting.question, timeout, this.servers, (end) => {
      this.#running.delete(inquiry);
      this.#report(waiting, end);
      this.#startSome(kinds);
    });
    waiting.inquiry = inquiry;
    this.#running.add(inquiry);
  }

  #report(waiting: Waiting, end: InquiryEnd): void {
    if (!waiting.isClosed) waiting.onEnd(end);
  }

  #leave(waiting: Waiting): void {
    waiting.isClosed = true;
    this.#queue.delete(waiting);
    waiting.inquiry?.close();
  }
}
