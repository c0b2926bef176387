import type { OpenDescriptors } from '../open-descriptors.js';
import type { SystemCalls } from './calls.js';
import { Errno } from './errno.js';
import { MOST_CALLS, type IoRing } from './io-ring.js';
import { RingMemory } from './ring-memory.js';

/** Bytes of one write that is collected: beside longer ones the way into the kernel is cheap. */
export const LONGEST = 16_384;
/** Bytes of all that wait. */
const ROOM = 131_072;

/** Has a write that is collected. */
export interface CollectedWriter {
  readonly descriptor: number | undefined;
  /**
   * @param result bytes that the system has accepted; below 0: the number of an error
   * @param memory holds the bytes that were to be sent, from `from` to `to`, during the call
   */
  onSent(result: number, memory: Buffer, from: number, to: number): void;
}

/**
 * Writes of the connections that one group of events concerns, and the closing of files that it has used, made by one call of the system after
 * the last event.
 */
export class CollectedWrites {
  readonly #memory: RingMemory;
  readonly #writers: (CollectedWriter | undefined)[] = Array.from({ length: MOST_CALLS }, () => undefined);
  /** Where the bytes of each end. */
  readonly #ends = new Int32Array(MOST_CALLS);
  #count = 0;
  #used = 0;
  /** Descriptors that are to be closed. */
  readonly #closed = new Int32Array(MOST_CALLS);
  #closings = 0;

  constructor(
    private readonly calls: SystemCalls,
    private readonly ring: IoRing,
    private readonly open: OpenDescriptors,
  ) {
    this.#memory = new RingMemory(calls, ROOM);
  }

  /** Bytes of a writer with a write that waits follow it directly: no other one was added since. */
  canFollow(writer: CollectedWriter, length: number): boolean {
    return this.#count > 0 && this.#writers[this.#count - 1] === writer && this.#used + length <= ROOM;
  }

  /** @param writer without a write that waits, or see {@link canFollow} */
  add(writer: CollectedWriter, data: string | Uint8Array): void {
    this.#begin(writer, data.length);
    if (typeof data === 'string') this.#memory.bytes.latin1Write(data, this.#used);
    else this.#memory.bytes.set(data, this.#used);
    this.#end(data.length);
  }

  /** Text of single bytes, and bytes after it. */
  addBoth(writer: CollectedWriter, text: string, bytes: Buffer, from: number, to: number): void {
    this.#begin(writer, text.length + to - from);
    const { bytes: memory } = this.#memory;
    bytes.copy(memory, this.#used + memory.latin1Write(text, this.#used), from, to);
    this.#end(text.length + to - from);
  }

  /** Closes a file that is in {@link OpenDescriptors}, and not used any more. */
  close(descriptor: number): void {
    if (this.#count + this.#closings === MOST_CALLS) this.flush();
    this.#closed[this.#closings++] = descriptor;
  }

  /** Makes the writes, in the order in which they were added. */
  flush(): void {
    const count = this.#count;
    const closings = this.#closings;
    if (count + closings === 0) return;
    const { ring } = this;
    const { bytes, low, high } = this.#memory;
    for (let from = 0, one = 0; one < count; one++) {
      const to = this.#ends[one] as number;
      ring.send((this.#writers[one] as CollectedWriter).descriptor ?? -1, low + from, high, to - from);
      from = to;
    }
    for (let one = 0; one < closings; one++) {
      const descriptor = this.#closed[one] as number;
      this.open.delete(descriptor);
      ring.close(descriptor);
    }
    ring.submit();
    this.#count = this.#closings = 0;
    this.#used = 0;
    // The system had no memory for the call.
    for (let one = 0; one < closings; one++) if (ring.results[count + one] === -Errno.Again) this.calls.close(this.#closed[one] as number);
    for (let from = 0, one = 0; one < count; one++) {
      const to = this.#ends[one] as number;
      const writer = this.#writers[one] as CollectedWriter;
      this.#writers[one] = undefined;
      writer.onSent(ring.results[one] as number, bytes, from, to);
      from = to;
    }
  }

  #begin(writer: CollectedWriter, length: number): void {
    if (this.canFollow(writer, length)) this.#count--;
    else if (this.#count + this.#closings === MOST_CALLS || this.#used + length > ROOM) this.flush();
    this.#writers[this.#count] = writer;
  }

  #end(length: number): void {
    this.#used += length;
    this.#ends[this.#count++] = this.#used;
  }
}
