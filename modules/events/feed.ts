import type { ActionContext } from '../../core/contract/control.js';
import type { EventPage, ServerEvent } from '../../core/contract/events.js';
import type { DataPlane } from '../../core/contract/data-plane.js';
import type { Tasks } from '../../core/contract/tasks.js';
import { setTimeout as sleep } from 'node:timers/promises';

/** Events that are kept at least for readers who come back or are slow. */
const KEPT = 1024;
const PAGE = 256;
/** How long the data plane is asked to wait for the next event, and how soon it is asked again after it was away (ms). */
const WAIT = 10_000;
const RETRY = 500;

/** An event as readers get it. One for a gap has no id. */
export type FedEvent = Omit<ServerEvent, 'id'> & { readonly id?: string };

/**
 * The events of the data plane in this process. As long as they have readers, the data plane is asked for events after the last one; a
 * later reader gets the events missed meanwhile, or an event for a gap.
 */
export class EventFeed {
  #events: FedEvent[] = [];
  /** Position of the first of them; positions grow by one an event. */
  #first = 0;
  #last: string | undefined;
  #readers = 0;
  #polls = false;
  readonly #waiting = new Set<() => void>();

  constructor(
    private readonly dataPlane: DataPlane,
    private readonly tasks: Tasks,
  ) {}

  /** Position of the event to come. */
  get end(): number {
    return this.#first + this.#events.length;
  }

  /** Id of the newest event. */
  get last(): string | undefined {
    return this.#last;
  }

  /** Gets what has happened so far. @throws ApiError when the data plane is away */
  async update(context: ActionContext): Promise<void> {
    if (!this.#polls) await this.#read(0, context);
  }

  /** Position after the event of this id; undefined: it is not kept. */
  positionAfter(id: string): number | undefined {
    const index = this.#events.findLastIndex((event) => event.id === id);
    return index < 0 ? undefined : this.#first + index + 1;
  }

  get first(): number {
    return this.#first;
  }

  /** Undefined: there is none yet, or it is not kept any more ({@link first}). */
  at(position: number): FedEvent | undefined {
    return this.#events[position - this.#first];
  }

  /** Begins to follow the data plane for one more reader. */
  enter(): void {
    this.#readers++;
    if (this.#polls) return;
    this.#polls = true;
    this.tasks.run((signal) => this.#poll(signal));
  }

  leave(): void {
    this.#readers--;
  }

  /** Calls `step` once when there is another event. @returns takes it back */
  onEvent(step: () => void): () => void {
    this.#waiting.add(step);
    return () => this.#waiting.delete(step);
  }

  async #poll(signal: AbortSignal): Promise<void> {
    try {
      while (this.#readers > 0 && !signal.aborted) {
        try {
          await this.#read(WAIT, { dryRun: false, requestId: 'events' });
        } catch {
          // It is away, or its module is: the readers stay, and get what they missed when it is back.
          await sleep(RETRY, undefined, { signal });
        }
      }
    } finally {
      this.#polls = false;
    }
  }

  async #read(wait: number, context: ActionContext): Promise<void> {
    for (;;) {
      const params = { limit: PAGE, wait, ...(this.#last !== undefined && { after: this.#last }) };
      const page = await this.dataPlane.call<EventPage>('events.read', params, context);
      this.#add(page);
      if (page.events.length < PAGE) return;
    }
  }

  #add({ events, gap, last }: EventPage): void {
    if (gap !== undefined) this.#events.push(gapEvent(gap, this.#last));
    this.#events.push(...events);
    this.#last = events.at(-1)?.id ?? last;
    if (this.#events.length >= 2 * KEPT) {
      this.#first += this.#events.length - KEPT;
      this.#events = this.#events.slice(-KEPT);
    }
    if (events.length === 0 && gap === undefined) return;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const step of waiting) step();
  }
}

/** @param after the last event that readers have */
export function gapEvent(reason: string, after: string | undefined): FedEvent {
  const text = JSON.stringify({ type: 'gap', time: new Date().toISOString(), data: { after, reason } });
  return { type: 'gap', text };
}
