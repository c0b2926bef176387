import type { Clock } from '../net/clock.js';
import type { Timed, TimerWheel } from '../net/timers.js';
import type { Choice } from './choice.js';
import type { Peer } from './peer.js';
import type { UpstreamMemory } from './upstream-memory.js';
import { WaitingRequest, type QueueUser } from './waiting-request.js';

/** Interval at which waiting requests look for a member that became available without a notice: its `fail_timeout` is over. Milliseconds. */
const LOOK_EVERY = 100;

/** `queue` of an upstream. */
export interface QueueSettings {
  /** Requests that may wait, of all workers. */
  readonly size: number;
  /** Milliseconds. */
  readonly timeout: number;
}

/** Parts of the upstream that a queue needs. */
export interface QueuedUpstream {
  readonly memory: UpstreamMemory;
  /** A member for a request that waits, claimed. */
  pickNow(choice: Choice | undefined): Peer | undefined;
}

/**
 * Requests of one worker that wait until a member of the upstream can be chosen (`queue`). They get members in the order in which they came,
 * over all workers of an upstream with a zone: a worker where a member becomes free wakes the one whose turn it is. Requests that have
 * tried a member already may have to wait for a certain one, so they are not in the order: they are asked first.
 */
export class RequestQueue implements Timed {
  deadline = 0;
  slot = -1;
  /** In turn. */
  #first: WaitingRequest | undefined = undefined;
  #last: WaitingRequest | undefined = undefined;
  readonly #retrying = new Set<WaitingRequest>();
  #serving = false;
  #again = false;
  #soon = false;
  #listening = false;

  /** @param settings undefined: no request may wait any more */
  constructor(
    public settings: QueueSettings | undefined,
    private readonly upstream: QueuedUpstream,
    private readonly worker: number,
    private readonly clock: Clock,
    private readonly timers: TimerWheel | undefined,
  ) {}

  /** True if a request that comes now has to wait, because others do. */
  get isBusy(): boolean {
    return this.#first !== undefined || this.upstream.memory.queue.isBusy;
  }

  /** A request waits from now on. Undefined: the queue is full. Its user is not called before this has returned. */
  join(choice: Choice | undefined, user: QueueUser): WaitingRequest | undefined {
    const { worker, settings } = this;
    const { memory } = this.upstream;
    const isRetry = choice?.tried !== undefined;
    memory.enter(this.clock.now);
    const ticket = settings !== undefined && memory.queue.join(worker, settings.size) ? memory.queue.takeTicket() : 0;
    if (ticket !== 0 && !isRetry && this.#first === undefined) memory.queue.show(worker, ticket);
    memory.leave();
    if (settings === undefined || ticket === 0) return undefined;
    const waiting = new WaitingRequest(this, choice, user, isRetry ? 0 : ticket);
    this.#add(waiting);
    this.timers?.arm(waiting, settings.timeout);
    if (this.deadline === 0) this.timers?.arm(this, LOOK_EVERY);
    this.#listen();
    // A member may have become free before the others knew of this one.
    queueMicrotask(() => this.serve());
    return waiting;
  }

  /** It waits no longer. */
  leave(waiting: WaitingRequest): void {
    const { memory } = this.upstream;
    this.timers?.forget(waiting);
    const wasFirst = waiting === this.#first;
    this.#drop(waiting);
    memory.enter(this.clock.now);
    memory.queue.leave(this.worker);
    if (wasFirst) memory.queue.show(this.worker, this.#first?.ticket ?? 0);
    memory.leave();
  }

  /** A member may be available now, for requests that wait here or in other workers. */
  serve(): void {
    if (this.#retrying.size === 0 && !this.isBusy) return;
    this.#again = true;
    if (this.#serving) return;
    this.#serving = true;
    try {
      while (this.#again) {
        this.#again = false;
        for (const waiting of this.#retrying) this.#serve(waiting);
        this.#serveInTurn();
      }
    } finally {
      this.#serving = false;
    }
  }

  /** A change may have brought a member. It is active as a whole before waiting requests try it. */
  serveSoon(): void {
    if (this.#soon || (this.#retrying.size === 0 && !this.isBusy)) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.serve();
    });
  }

  onDeadline(): void {
    this.serve();
    if (!this.#isEmpty()) this.timers?.arm(this, LOOK_EVERY);
  }

  #isEmpty(): boolean {
    return this.#first === undefined && this.#retrying.size === 0;
  }

  #serveInTurn(): void {
    const { memory } = this.upstream;
    for (;;) {
      memory.enter(this.clock.now);
      const { next } = memory.queue;
      memory.leave();
      if (next !== this.worker || this.#first === undefined) {
        if (next >= 0 && next !== this.worker) memory.queue.signal(next);
        return;
      }
      if (!this.#serve(this.#first)) return;
    }
  }

  /** False: there is no member for it. */
  #serve(waiting: WaitingRequest): boolean {
    waiting.choice?.restart();
    const peer = this.upstream.pickNow(waiting.choice);
    if (peer === undefined) return false;
    this.leave(waiting);
    waiting.user.onTurn(peer);
    return true;
  }

  /** Hears when another worker has a member for those here. */
  #listen(): void {
    if (this.#listening) return;
    const woken = this.upstream.memory.queue.wait(this.worker);
    if (woken === undefined) return;
    this.#listening = true;
    void woken.then(() => {
      this.#listening = false;
      this.clock.refresh();
      if (!this.#isEmpty()) this.#listen();
      this.serve();
    });
  }

  #add(waiting: WaitingRequest): void {
    if (waiting.ticket === 0) {
      this.#retrying.add(waiting);
      return;
    }
    waiting.before = this.#last;
    if (this.#last === undefined) this.#first = waiting;
    else this.#last.next = waiting;
    this.#last = waiting;
  }

  #drop(waiting: WaitingRequest): void {
    if (this.#retrying.delete(waiting)) return;
    const { before, next } = waiting;
    if (before === undefined) this.#first = next;
    else before.next = next;
    if (next === undefined) this.#last = before;
    else next.before = before;
  }
}
