import type { WorkerStatistics } from '../../contract/server-status.js';
import type { Statistics } from '../../contract/statistics.js';
import { SentAmounts, unlessEmpty, type CarriedState, type AmountChange } from '../../zone/carried-state.js';

const enum Slot {
  Accepted,
  Handled,
  Requests,
  Active,
  Reading,
  Writing,
  Handshakes,
  HandshakesFailed,
  SessionReuses,
  Sessions,
}

const SLOTS = [
  Slot.Accepted,
  Slot.Handled,
  Slot.Requests,
  Slot.Active,
  Slot.Reading,
  Slot.Writing,
  Slot.Handshakes,
  Slot.HandshakesFailed,
  Slot.SessionReuses,
  Slot.Sessions,
] as const;

/** Workers that may share one memory of figures. */
export const FIGURE_LANES = 256;
/** Cells from one lane to the next: 128 bytes, so that no two workers write to a cache line, or to a pair that is fetched together. */
const LANE_CELLS = 16;
/** Bytes of shared memory the figures of one node take. */
export const FIGURES_SIZE = FIGURE_LANES * LANE_CELLS * Float64Array.BYTES_PER_ELEMENT;

/**
 * Connection and request figures (stub_status). Every worker writes a lane of its own, so no write is atomic or contended; a reader adds
 * the lanes. The memory outlives a worker: its replacement goes on counting where it stopped, but has no connections.
 */
export class TrafficFigures implements Statistics {
  readonly #cells: Float64Array;
  readonly #lane: number;

  constructor(memory: ArrayBufferLike, lane: number) {
    this.#cells = new Float64Array(memory);
    this.#lane = Math.max(lane, 0) * LANE_CELLS;
    this.drop(Math.max(lane, 0));
  }

  /** Forgets the connections of a worker that is gone. */
  drop(lane: number): void {
    const first = lane * LANE_CELLS;
    for (const slot of [Slot.Active, Slot.Reading, Slot.Writing, Slot.Sessions]) this.#cells[first + slot] = 0;
  }

  countAccepted(): void {
    this.#add(Slot.Accepted, 1);
  }
  countHandled(): void {
    this.#add(Slot.Handled, 1);
    this.#add(Slot.Active, 1);
  }
  countClosed(): void {
    this.#add(Slot.Active, -1);
  }
  countSession(change: 1 | -1): void {
    this.#add(Slot.Sessions, change);
  }
  countRequest(): void {
    this.#add(Slot.Requests, 1);
    this.#add(Slot.Writing, 1);
  }
  countAnswered(): void {
    this.#add(Slot.Writing, -1);
  }
  countReading(change: 1 | -1): void {
    this.#add(Slot.Reading, change);
  }
  countHandshake(isReused: boolean): void {
    this.#add(Slot.Handshakes, 1);
    if (isReused) this.#add(Slot.SessionReuses, 1);
  }
  countFailedHandshake(): void {
    this.#add(Slot.HandshakesFailed, 1);
  }

  /**
   * The figures of all lanes, for the program that takes over.
   * @param lane where it adds those of the program before it: no worker writes there
   */
  carried(lane: number): CarriedState {
    return {
      form: 'connection figures 1',
      give: () => {
        const sent = new SentAmounts();
        return () => unlessEmpty(sent.changes([['', SLOTS.map((slot) => this.#sum(slot))]]));
      },
      take: (changes) => {
        for (const [, amounts] of changes as readonly AmountChange[])
          for (const slot of SLOTS) this.#cells[lane * LANE_CELLS + slot]! += amounts[slot] ?? 0;
      },
    };
  }

  /** Requests sent to the worker with that lane, and to earlier ones with it. */
  requestsOf(lane: number): number {
    return this.#cells[lane * LANE_CELLS + Slot.Requests] ?? 0;
  }

  /** Connections of this worker alone. */
  get own(): number {
    return this.#cells[this.#lane + Slot.Active] ?? 0;
  }
  get accepted(): number {
    return this.#sum(Slot.Accepted);
  }
  get handled(): number {
    return this.#sum(Slot.Handled);
  }
  get requests(): number {
    return this.#sum(Slot.Requests);
  }
  get active(): number {
    return this.#sum(Slot.Active);
  }
  get reading(): number {
    return this.#sum(Slot.Reading);
  }
  get writing(): number {
    return this.#sum(Slot.Writing);
  }
  get handshakes(): number {
    return this.#sum(Slot.Handshakes);
  }
  get handshakesFailed(): number {
    return this.#sum(Slot.HandshakesFailed);
  }
  get sessionReuses(): number {
    return this.#sum(Slot.SessionReuses);
  }
  ofWorker(place: number): WorkerStatistics {
    const of = (slot: Slot): number => this.#cells[place * LANE_CELLS + slot] ?? 0;
    return {
      accepted: of(Slot.Accepted),
      handled: of(Slot.Handled),
      requests: of(Slot.Requests),
      active: of(Slot.Active),
      reading: of(Slot.Reading),
      writing: of(Slot.Writing),
    };
  }
  get waiting(): number {
    // A session of `stream` is neither, and it is not idle.
    return Math.max(this.active - this.reading - this.writing - this.#sum(Slot.Sessions), 0);
  }

  #add(slot: Slot, amount: number): void {
    const at = this.#lane + slot;
    this.#cells[at] = (this.#cells[at] ?? 0) + amount;
  }

  #sum(slot: Slot): number {
    let total = 0;
    for (let at: number = slot; at < this.#cells.length; at += LANE_CELLS) total += this.#cells[at] ?? 0;
    return total;
  }
}
