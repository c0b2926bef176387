import type { SystemCalls } from './calls.js';
import type { IoRing } from './io-ring.js';
import { ReadViews } from './read-views.js';
import { RingMemory } from './ring-memory.js';

/** Bytes of one read: a connection for which that is too little reads by itself. */
export const AHEAD = 16_384;
/** Reads that are made together. */
export const MOST_AHEAD = 16;
/** Distance of places: at a power of two the first bytes of all of them would share a few lines of the processor's cache. */
const STRIDE = AHEAD + 1088;

/** Reads of the connections that one group of events reports, made by one call of the system before the first event is handled. */
export class ReadsAhead {
  /** Reads that are asked for. */
  count = 0;
  readonly #descriptors = new Int32Array(MOST_AHEAD);
  readonly #results = new Int32Array(MOST_AHEAD);
  readonly #memory: RingMemory;
  readonly #places: readonly Buffer[];
  readonly #views: readonly ReadViews[];

  constructor(
    calls: SystemCalls,
    private readonly ring: IoRing,
  ) {
    this.#memory = new RingMemory(calls, MOST_AHEAD * STRIDE);
    this.#places = Array.from({ length: MOST_AHEAD }, (_, place) => this.#memory.bytes.subarray(place * STRIDE, place * STRIDE + AHEAD));
    this.#views = this.#places.map(() => new ReadViews());
  }

  /** The first one has place 0, and so on. */
  add(descriptor: number): void {
    this.#descriptors[this.count++] = descriptor;
  }

  /** Makes the reads. Their bytes are valid until the next time. */
  make(): void {
    const { ring, count } = this;
    const { low, high } = this.#memory;
    for (let place = 0; place < count; place++) ring.receive(this.#descriptors[place] as number, low + place * STRIDE, high, AHEAD);
    ring.submit();
    // The results of the ring are those of writes soon.
    for (let place = 0; place < count; place++) this.#results[place] = ring.results[place] as number;
  }

  /** Bytes of a read; 0: the end of its connection; below 0: the number of an error. */
  result(place: number): number {
    return this.#results[place] as number;
  }

  bytes(place: number, count: number): Buffer {
    return (this.#views[place] as ReadViews).of(this.#places[place] as Buffer, count);
  }
}
