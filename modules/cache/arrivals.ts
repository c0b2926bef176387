/** Responses that are being fetched and stored while other requests wait for them, over all workers (`proxy_cache_lock_streaming`). */
import type { Holds, Records } from '../../core/contract/zones.js';

const FIELDS = ['turn', 'step', 'state', 'declined'] as const;
/** The file that a response is written to: name in the cache, a point, and 16 digits. */
const STRINGS = { file: 49 } as const;

/** How far a fetch has come. */
export const ArrivalState = {
  /** The member has not responded. */
  Asked: 1,
  /** The response is being written to a file. */
  Arriving: 2,
} as const;

/** A fetch as others see it. */
export interface SeenArrival {
  /** Number of the fetch. */
  readonly turn: number;
  /** Changes whenever there is news. */
  readonly step: number;
  readonly state: number;
  readonly file: string;
}

/** Milliseconds for which it is known that a response was not stored: waiting requests learn it meanwhile. */
const DECLINED_FOR = 2_000;

/** The fetches of one cache. Their progress is in shared memory; holds say that the worker of a fetch is alive, and wake the requests that wait for news. */
export class Arrivals {
  /** Of this worker, with the time until when they are known. */
  readonly #declined: { readonly arrival: Arrival; readonly until: number }[] = [];

  /** @param nextTurn a number that no other fetch has */
  constructor(
    private readonly records: ArrivalRecords,
    private readonly holds: Holds,
    private readonly nextTurn: () => number,
  ) {}

  /** Announces a fetch. Undefined: another one is announced and arriving, or the zone is full. */
  begin(name: string): Arrival | undefined {
    this.#forgetDeclined();
    if (this.find(name)?.state === ArrivalState.Arriving) return undefined;
    const turn = this.nextTurn();
    const arrival = new Arrival(this.records, this.holds, name, turn);
    return arrival.announce() ? arrival : undefined;
  }

  /** The response of a fetch is not stored. */
  decline(arrival: Arrival): void {
    arrival.declined();
    arrival.over();
    this.#declined.push({ arrival, until: performance.now() + DECLINED_FOR });
  }

  #forgetDeclined(): void {
    for (const now = performance.now(); (this.#declined[0]?.until ?? Infinity) < now;) this.#declined.shift()?.arrival.forget();
  }

  /** Undefined: there is none under way. */
  find(name: string): SeenArrival | undefined {
    const seen = this.records.get(name);
    return seen !== undefined && this.isAlive(name, seen.turn) ? seen : undefined;
  }

  /** True if the response of a fetch, or of a later one, was not stored: a request that has waited for it asks a member. */
  wasDeclined(name: string, turn: number): boolean {
    return (this.records.get(name)?.declined ?? 0) >= turn;
  }

  /** False: the fetch is over. */
  isAlive(name: string, turn: number): boolean {
    return this.holds.count(lifeKey(name, turn)) > 0;
  }

  /** The step that a fetch is at; -1: that is not known. */
  stepOf(name: string, turn: number): number {
    const seen = this.records.get(name);
    return seen?.turn === turn ? seen.step : -1;
  }

  /** Waits until a fetch has got further than a step, or is over. @returns false: the time is over */
  async news(name: string, turn: number, step: number, ms: number, signal: AbortSignal): Promise<boolean> {
    if (step >= 0) return this.holds.whenBelow(stepKey(name, turn, step), 1, ms, signal);
    await this.holds.whenBelow(lifeKey(name, turn), 1, Math.min(ms, POLL), signal);
    return true;
  }
}

/** Where nothing says how far a fetch is, its file is looked at again and again. Milliseconds. */
const POLL = 25;

export type ArrivalRecords = Records<(typeof FIELDS)[number], keyof typeof STRINGS>;
/** Options of {@link ArrivalRecords}. */
export const ARRIVAL_RECORDS = { fields: FIELDS, strings: STRINGS };

/** One fetch, for its own worker. */
export class Arrival {
  #step = 0;
  #isOver = false;

  constructor(
    private readonly records: ArrivalRecords,
    private readonly holds: Holds,
    private readonly name: string,
    private readonly turn: number,
  ) {}

  /** False: the zone is full. */
  announce(): boolean {
    const { name, turn, holds } = this;
    if (holds.acquire(lifeKey(name, turn), 1) !== 'held') return false;
    const isHeld = holds.acquire(stepKey(name, turn, 0), 1) === 'held';
    if (isHeld && this.records.update(name, announced, turn) === 'stored') return true;
    if (isHeld) holds.release(stepKey(name, turn, 0));
    holds.release(lifeKey(name, turn));
    return false;
  }

  /** The head is in the file. */
  begun(file: string): void {
    this.#go(ArrivalState.Arriving, file);
  }

  /** More of the body is in the file. */
  grown(): void {
    this.#go(ArrivalState.Arriving, '');
  }

  /** The response is not stored. */
  declined(): void {
    this.records.update(this.name, declined, this.turn);
  }

  #go(state: number, file: string): void {
    const { name, turn, holds } = this;
    if (this.#isOver) return;
    const step = this.#step + 1;
    // Without room for it waiting requests get the news with the next step.
    if (holds.acquire(stepKey(name, turn, step), 1) !== 'held') return;
    this.records.update(name, gone, { turn, step, state, file });
    holds.release(stepKey(name, turn, this.#step));
    this.#step = step;
  }

  /** The file is whole, or will never be. */
  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { name, turn, holds } = this;
    holds.release(lifeKey(name, turn));
    holds.release(stepKey(name, turn, this.#step));
  }

  /** Forgets a fetch that is over. */
  forget(): void {
    if (this.records.get(this.name)?.turn === this.turn) this.records.delete(this.name);
  }
}

function lifeKey(name: string, turn: number): string {
  return `${name} ${turn}`;
}

function stepKey(name: string, turn: number, step: number): string {
  return `${name} ${turn} ${step}`;
}

type Fields = Record<(typeof FIELDS)[number], number> & Record<keyof typeof STRINGS, string>;

function announced(fields: Fields, turn: number): true {
  fields.turn = turn;
  fields.step = 0;
  fields.state = ArrivalState.Asked;
  fields.file = '';
  return true;
}

function declined(fields: Fields, turn: number): boolean {
  fields.declined = Math.max(fields.declined, turn);
  return fields.turn === turn;
}

/** Nothing if another fetch is announced by now. */
function gone(fields: Fields, { turn, step, state, file }: SeenArrival): boolean {
  if (fields.turn !== turn) return false;
  fields.step = step;
  fields.state = state;
  if (file !== '') fields.file = file;
  return true;
}
