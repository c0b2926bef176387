import { EventLog, type EventPage, type ServerEvent } from '../contract/events.js';
import type { CarriedState } from '../zone/carried-state.js';
import { EventBudget } from './event-budget.js';
import { droppedEvents, eventMessage, topicOf, type EventMessage } from './event-message.js';

/** Events that are kept at least for readers who come back. */
const KEPT = 1024;
/** Topics that the bus keeps an event of. */
const KEPT_TOPICS = 1024;

/** Where events go besides the readers of {@link EventRecord.read}. */
export interface EventSink {
  /** @param text the event; undefined: the topic has none any more */
  keep(topic: string, text: string | undefined): void;
}

interface EventData {
  readonly start: string;
  readonly last: number;
  readonly events: readonly ServerEvent[];
  readonly topics: readonly (readonly [topic: string, text: string])[];
}

/**
 * The events of this node, in the memory of the master: each has a number, one more than the one before it. An id is the start of the server
 * and that number, so that events of another start are not mistaken for later ones.
 */
export class EventRecord extends EventLog {
  #start = Date.now().toString(36);
  #events: ServerEvent[] = [];
  /** Number of the newest event. */
  #last = 0;
  readonly #waiting = new Set<() => void>();
  /** The last event of each type and subject, the oldest first. */
  readonly #topics = new Map<string, string>();
  #sink: EventSink | undefined;
  readonly #budget = new EventBudget((count) => this.record(droppedEvents(count)));

  /** @param nodeName name of this node at the moment: letters, digits, `-`, `.` and `_` */
  constructor(private readonly nodeName: () => string) {
    super();
  }

  publish(...event: Parameters<EventLog['publish']>): void {
    const message = eventMessage(...event);
    if (this.#budget.admits()) this.record(message);
  }

  forget(type: string, subject: readonly string[]): void {
    this.record({ type, subject, data: undefined });
  }

  /** Adds an event of this thread or a worker. */
  record(message: EventMessage): void {
    const topic = topicOf(message);
    if (message.data === undefined) this.#dropTopic(topic);
    else this.#add(topic, message.type, message.data);
  }

  /** Gives a sink the last event of each topic, and all that follow. It may be called again, for a sink that has lost them. */
  sendTo(sink: EventSink): void {
    this.#sink = sink;
    for (const [topic, text] of this.#topics) sink.keep(topic, text);
  }

  read(after: string | undefined, limit: number): EventPage {
    const first = this.#last - this.#events.length + 1;
    const last = this.#idOf(this.#last);
    const number = after === undefined ? first - 1 : this.#numberOf(after);
    if (number === undefined) {
      const gap = 'the server was restarted, or the id is not one of its events';
      return { events: this.#events.slice(0, limit), last, gap };
    }
    const events = this.#events.slice(Math.max(0, number - first + 1), Math.max(0, number - first + 1) + limit);
    if (number >= first - 1) return { events, last };
    return { events, last, gap: `${first - 1 - number} events are not kept any more` };
  }

  async wait(after: string, ms: number): Promise<void> {
    if (this.#numberOf(after) !== this.#last) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#waiting.add(done);
    });
  }

  /** Events so far and their numbers, for the program that takes over: readers go on where they were. */
  get carried(): CarriedState {
    return {
      form: 'events 1',
      give: () => {
        let isGiven = false;
        return () => {
          if (isGiven) return undefined;
          isGiven = true;
          return { start: this.#start, last: this.#last, events: this.#events, topics: [...this.#topics] } satisfies EventData;
        };
      },
      // Before the first event of this program.
      expect: (data) => {
        const { start, last, events, topics } = data as EventData;
        this.#start = start;
        this.#last = last;
        this.#events = [...events];
        for (const [topic, text] of topics) this.#topics.set(topic, text);
      },
      take: () => undefined,
    };
  }

  /** Releases waiting readers: the server ends. */
  close(): void {
    this.#sink = undefined;
    this.#release();
  }

  #add(topic: string, type: string, data: string): void {
    const id = this.#idOf(++this.#last);
    const text = `{"id":"${id}","type":"${type}","time":"${new Date().toISOString()}","node":"${this.nodeName()}","data":${data}}`;
    this.#events.push({ id, type, text });
    // Cut in large pieces: taking one off the front each time would move all others.
    if (this.#events.length >= 2 * KEPT) this.#events = this.#events.slice(-KEPT);
    this.#topics.delete(topic);
    this.#topics.set(topic, text);
    this.#sink?.keep(topic, text);
    for (const oldest of this.#topics.keys()) {
      if (this.#topics.size <= KEPT_TOPICS) break;
      this.#dropTopic(oldest);
    }
    this.#release();
  }

  #release(): void {
    for (const done of this.#waiting) done();
  }

  #dropTopic(topic: string): void {
    if (this.#topics.delete(topic)) this.#sink?.keep(topic, undefined);
  }

  #idOf(number: number): string {
    return `${this.#start}-${number}`;
  }

  /** Undefined for other texts than an event of this start. */
  #numberOf(id: string): number | undefined {
    const [start, digits = ''] = id.split('-', 2);
    const number = Number(digits);
    return start === this.#start && /^\d{1,15}$/.test(digits) && number <= this.#last ? number : undefined;
  }
}
