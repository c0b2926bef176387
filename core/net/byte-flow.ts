import type { Connection, PassingUser } from './transport/connection.js';
import type { NetContext } from './net-context.js';
import { PassedSize } from './passed-size.js';
import type { ReadMemory } from './read-memory.js';
import type { Timed } from './timers.js';
import { tryWrite } from './try-write.js';

/** Reads from this size on are of a sender that has much to say: it gets memory of its own, which is passed on as it is. */
const LARGE = 16_384;

/** Why nothing is read at the moment. */
const enum Waits {
  No = 0,
  /** The target has not sent all of its data yet. */
  ForTarget = 1,
  /** The rate allows nothing more for now. */
  ForRate = 2,
}

/** Follows a flow whose bytes it does not see. */
export interface FlowOwner {
  /** As many bytes came without a call of {@link ByteFlow.write}. */
  onPassed(flow: ByteFlow, count: number): void;
}

/**
 * One direction of a relay: bytes go from one socket to another, as fast as that consumes them. Small pieces are copied out of the buffer that
 * all sockets share; large ones are passed on by the system alone, where it can and no rate limits them, or in the memory that they were read into,
 * which comes back when they are sent.
 */
export class ByteFlow implements Timed, PassingUser {
  deadline = 0;
  slot = -1;
  /** Buffers that the target has not sent yet. */
  #inFlight: Buffer[] | undefined = undefined;
  #waits: number = Waits.No;
  readonly #startedAt: number;
  #received = 0;
  /** Read before the rate allows to send it: more than one read may bring, or before the flow began. */
  #held: Buffer | undefined = undefined;
  #onSent: (() => void) | undefined = undefined;
  readonly #passedSize: PassedSize;
  #isPassing = false;

  constructor(
    private readonly source: Connection,
    /** Memory of reads from the source; undefined: each read has memory of its own. */
    private readonly memory: ReadMemory | undefined,
    private readonly target: Connection,
    private readonly context: NetContext,
    /** Bytes a second; 0: no limit. */
    private readonly rate: number,
    private readonly owner: FlowOwner,
  ) {
    this.#startedAt = context.clock.now;
    this.#passedSize = new PassedSize(context.buffers);
    memory?.limit(rate > 0 ? rate : Infinity);
  }

  get most(): number {
    return this.#passedSize.bytes;
  }

  /** Nothing is read because the rate does not allow it. */
  get isDelayed(): boolean {
    return (this.#waits & Waits.ForRate) !== 0;
  }

  /** Calls back when what the rate does not allow yet is sent. False: there is nothing. */
  whenSent(then: () => void): boolean {
    if (this.#held === undefined) return false;
    this.#onSent = then;
    return true;
  }

  /** @param borrowed the bytes are only valid during the call, unless they are in memory of the source's own */
  write(chunk: Buffer, borrowed: boolean): void {
    const most = this.rate > 0 ? Math.max(this.#left, 1) : Infinity;
    if (chunk.length <= most) {
      this.#pass(chunk, borrowed);
      return;
    }
    const rest = chunk.subarray(most);
    this.#held = this.#held === undefined ? Buffer.from(rest) : Buffer.concat([this.#held, rest]);
    this.#pass(chunk.subarray(0, most), borrowed);
  }

  #pass(chunk: Buffer, borrowed: boolean): void {
    const { target, memory } = this;
    if (this.#inFlight !== undefined && target.writableLength === 0) this.#giveBack();
    const taken = tryWrite(target, chunk);
    const rest = taken === 0 ? chunk : chunk.subarray(taken);
    const isKept = borrowed && memory?.isOwn === true;
    const hasRoom = rest.length === 0 || target.write(borrowed && !isKept ? Buffer.from(rest) : rest);
    const isBehind = rest.length > 0 && target.writableLength > 0;
    if (isBehind && isKept) this.#keep(memory.keep());
    if (!this.#isPassing) {
      const passes = chunk.length >= LARGE && this.#startPassing();
      // A session that is idle keeps no buffer.
      memory?.useOwn(chunk.length >= LARGE && !passes);
    }
    // Without room `drain` follows.
    if (isBehind && !hasRoom) this.#wait(Waits.ForTarget);
    if (this.rate > 0) this.#limit(chunk.length);
  }

  #startPassing(): boolean {
    this.#isPassing = this.rate === 0 && !this.context.buffers.isScarce && this.source.passTo?.(this.target, this) === true;
    return this.#isPassing;
  }

  onPassed(count: number, rest: Buffer | undefined): void {
    const { target, source, context } = this;
    this.owner.onPassed(this, count);
    this.#passedSize.adapt(count, rest === undefined);
    if (rest !== undefined) {
      const hasRoom = target.write(rest);
      if (!hasRoom) {
        this.#passedSize.countWaiting(rest.length);
        this.#wait(Waits.ForTarget);
      }
    }
    if (count >= LARGE && !context.buffers.isScarce) return;
    this.#isPassing = false;
    source.endPassing?.();
  }

  /** The target has sent everything. */
  onDrain(): void {
    this.#passedSize.countWaiting(0);
    if (this.#inFlight !== undefined) this.#giveBack();
    this.#goOn(Waits.ForTarget);
  }

  /** The rate allows more. */
  onDeadline(): void {
    const held = this.#held;
    if (held === undefined) {
      this.#goOn(Waits.ForRate);
      return;
    }
    this.#held = undefined;
    this.write(held, false);
    if (this.#held === undefined) this.#onSent?.();
  }

  /** Nothing is read any more. */
  stop(): void {
    this.context.timers.forget(this);
    this.source.pause();
    this.source.endPassing?.();
    this.#passedSize.countWaiting(0);
    // The end of a session waits for no rate.
    if (this.#held !== undefined) this.target.write(this.#held);
    this.#held = undefined;
    this.memory?.useOwn(false);
    for (const buffer of this.#inFlight ?? []) this.context.buffers.lose(buffer);
    this.#inFlight = undefined;
  }

  #wait(reason: Waits): void {
    if (this.#waits === Waits.No) this.source.pause();
    this.#waits |= reason;
  }

  #goOn(reason: Waits): void {
    if ((this.#waits & reason) === 0) return;
    this.#waits &= ~reason;
    if (this.#waits === Waits.No) this.source.resume();
  }

  /** As nginx has it: what a second allows may come at once, and each piece takes its time. */
  #limit(length: number): void {
    const { rate, context, memory } = this;
    this.#received += length;
    const left = this.#left;
    memory?.limit(Math.max(left, 1));
    const wait = Math.ceil((Math.max(length, -left) * 1000) / rate);
    if (wait < 1) return;
    this.#wait(Waits.ForRate);
    context.timers.arm(this, wait);
  }

  /** Bytes that may pass now. */
  get #left(): number {
    const elapsed = this.context.clock.now - this.#startedAt;
    return Math.floor((this.rate * (elapsed + 1000)) / 1000) - this.#received;
  }

  #keep(buffer: Buffer | undefined): void {
    if (buffer === undefined) return;
    this.#inFlight ??= [];
    this.#inFlight.push(buffer);
  }

  #giveBack(): void {
    for (const buffer of this.#inFlight ?? []) this.context.buffers.give(buffer);
    this.#inFlight = undefined;
  }
}
