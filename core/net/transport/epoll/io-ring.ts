import type { OpenDescriptors } from '../open-descriptors.js';
import type { SystemCalls } from './calls.js';
import { Errno } from './errno.js';

/** IORING_SETUP_SINGLE_ISSUER, NO_MMAP and NO_SQARRAY: Linux 6.6. */
const FLAGS = (1 << 12) | (1 << 14) | (1 << 16);

/** Calls that one call of the system makes at most. */
export const MOST_CALLS = 64;
const PAGE = 4096;

/** `struct io_uring_params`: its length, and where its parts begin, in 32-bit words. */
const PARAMS_WORDS = 30;
const PARAMS_FLAGS = 2;
const SUBMISSION = 10;
const COMPLETION = 20;
/** Of `struct io_sqring_offsets` and `struct io_cqring_offsets`, in words. */
const HEAD = 0;
const TAIL = 1;
const COMPLETIONS = 5;
/** Of both, in bytes of the structure: `user_addr`. */
const SUBMISSION_ADDRESS = 4 * SUBMISSION + 32;
const COMPLETION_ADDRESS = 4 * COMPLETION + 32;

/** `struct io_uring_sqe` and `struct io_uring_cqe` in 32-bit words, and what is used of them. */
const ENTRY_WORDS = 16;
const DESCRIPTOR = 1;
const ADDRESS = 4;
const LENGTH = 6;
const MESSAGE_FLAGS = 7;
const USER_DATA = 8;
const RESULT_WORDS = 4;
const RESULT = 2;

/** IORING_OP_CLOSE, IORING_OP_SEND, IORING_OP_RECV. */
const CLOSE = 19;
const SEND = 26;
const RECEIVE = 27;
/** MSG_DONTWAIT: it is done before the call returns, or not at all. */
const NO_WAITING = 0x40;
/** MSG_NOSIGNAL. */
const NO_SIGNAL = 0x4000;

/**
 * Calls of one thread that are made together, by one call of the system (io_uring(7)): the way into the kernel and back costs as much as
 * a short read where processors are protected from each other. None of them waits: all are done when {@link submit} returns, so
 * nothing of a ring outlives a turn of the event loop, and no memory is held by the kernel.
 */
export class IoRing {
  /** Result of each call, in their order: as of `SystemCalls`. */
  readonly results = new Int32Array(MOST_CALLS);
  /** Calls that are not made yet. */
  count = 0;
  /** Head and tail of calls, and of results. */
  readonly #ring: Int32Array;
  readonly #calls: Int32Array;
  readonly #callHead: number;
  readonly #callTail: number;
  readonly #resultHead: number;
  readonly #resultTail: number;
  readonly #resultsFrom: number;

  private constructor(
    private readonly system: SystemCalls,
    private readonly descriptor: number,
    ring: Buffer,
    calls: Buffer,
    params: Int32Array,
  ) {
    this.#ring = new Int32Array(ring.buffer, ring.byteOffset, PAGE / 4);
    this.#calls = new Int32Array(calls.buffer, calls.byteOffset, PAGE / 4);
    const at = (place: number): number => (params[place] as number) / 4;
    this.#callHead = at(SUBMISSION + HEAD);
    this.#callTail = at(SUBMISSION + TAIL);
    this.#resultHead = at(COMPLETION + HEAD);
    this.#resultTail = at(COMPLETION + TAIL);
    this.#resultsFrom = at(COMPLETION + COMPLETIONS);
  }

  /** @returns undefined: the system has none (Linux before 6.6, or they are forbidden here) */
  static open(system: SystemCalls, open: OpenDescriptors): IoRing | undefined {
    // The system still uses them when the thread has died, and until the main thread has closed the descriptor: they are never released.
    const memory = system.mapPages(2 * PAGE);
    if (memory === undefined) return undefined;
    const [ring, calls] = [memory.subarray(0, PAGE), memory.subarray(PAGE)];
    const params = new Int32Array(PARAMS_WORDS);
    params[PARAMS_FLAGS] = FLAGS;
    const bytes = Buffer.from(params.buffer);
    bytes.writeBigUInt64LE(system.pointer(ring), COMPLETION_ADDRESS);
    bytes.writeBigUInt64LE(system.pointer(calls), SUBMISSION_ADDRESS);
    const descriptor = system.setUpRing(MOST_CALLS, bytes);
    if (descriptor < 0) return undefined;
    open.add(descriptor);
    const made = new IoRing(system, descriptor, ring, calls, params);
    return made.#isUsable() ? made : undefined;
  }

  /** @param low @param high halves of the address that is read into */
  receive(descriptor: number, low: number, high: number, length: number): void {
    this.#add(RECEIVE, descriptor, low, high, length, NO_WAITING);
  }

  /** @param low @param high halves of the address of the bytes */
  send(descriptor: number, low: number, high: number, length: number): void {
    this.#add(SEND, descriptor, low, high, length, NO_WAITING | NO_SIGNAL);
  }

  close(descriptor: number): void {
    this.#add(CLOSE, descriptor, 0, 0, 0, 0);
  }

  /** One that may be made, but not used, is worth nothing. */
  #isUsable(): boolean {
    this.receive(-1, 0, 0, 0);
    this.submit();
    return this.results[0] === -Errno.BadDescriptor;
  }

  #add(operation: number, descriptor: number, low: number, high: number, length: number, flags: number): void {
    const ring = this.#ring;
    const calls = this.#calls;
    const tail = ring[this.#callTail] as number;
    const at = (tail & (MOST_CALLS - 1)) * ENTRY_WORDS;
    calls[at] = operation;
    calls[at + DESCRIPTOR] = descriptor;
    calls[at + ADDRESS] = low;
    calls[at + ADDRESS + 1] = high;
    calls[at + LENGTH] = length;
    calls[at + MESSAGE_FLAGS] = flags;
    calls[at + USER_DATA] = this.count;
    // A call that the system does not make finds no room, or no bytes: an event reports these again.
    this.results[this.count++] = -Errno.Again;
    ring[this.#callTail] = tail + 1;
  }

  /** Makes the calls. Up to {@link MOST_CALLS} can be added before. */
  submit(): void {
    const ring = this.#ring;
    const submitted = Math.max(this.system.enterRing(this.descriptor, this.count, 0), 0);
    // Calls that the system has left out, for want of memory, are taken back.
    if (submitted < this.count) ring[this.#callTail] = ring[this.#callHead] as number;
    this.count = 0;
    let done = this.#takeResults();
    while (done < submitted) {
      this.system.enterRing(this.descriptor, 0, submitted - done);
      done += this.#takeResults();
    }
  }

  #takeResults(): number {
    const ring = this.#ring;
    const head = ring[this.#resultHead] as number;
    const count = ((ring[this.#resultTail] as number) - head) | 0;
    for (let one = 0; one < count; one++) {
      const at = this.#resultsFrom + ((head + one) & (2 * MOST_CALLS - 1)) * RESULT_WORDS;
      this.results[ring[at] as number] = ring[at + RESULT] as number;
    }
    ring[this.#resultHead] = head + count;
    return count;
  }
}
