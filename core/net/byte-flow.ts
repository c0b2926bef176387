import type { Socket } from 'node:net';
import type { NetContext } from './net-context.js';
import type { ReadMemory } from './read-memory.js';
import type { Timed } from './timers.js';
import { tryWrite } from './try-write.js';

/** Reads from this size on are of a sender that has much to say: it gets memory of its own, which is passed on as it is. */
const LARGE = 16_384;

/** Why nothing is read at the moment. */
const enum Waits {
  No = 0,
  /** The target has not taken what it was sent. */
  ForTarget = 1,
  /** The rate allows nothing more for now. */
  ForRate = 2,
}

/**
 * One direction of a relay: bytes go from one socket to another, as fast as that consumes them. Small pieces are copied out of the buffer that
 * all sockets share; large ones are passed on in the memory that they were read into, which comes back when they are sent.
 */
export class ByteFlow implements Timed {
  deadline = 0;
  slot = -1;
  /** Buffers that the target has not sent yet. */
  #inFlight: Buffer[] | undefined = undefined;
  #waits: number = Waits.No;
  readonly #startedAt: number;
  #received = 0;

  constructor(
    private readonly source: Socket,
    /** What the source reads into; undefined: each read has memory of its own. */
    private readonly memory: ReadMemory | undefined,
    private readonly target: Socket,
    /** The target does not speak TLS. */
    private readonly isPlain: boolean,
    private readonly context: NetContext,
    /** Bytes a second; 0: no limit. */
    private readonly rate: number,
  ) {
    this.#startedAt = context.clock.now;
    memory?.limit(rate > 0 ? rate : Infinity);
  }

  /** Nothing is read because the rate does not allow it. */
  get isDelayed(): boolean {
    return (this.#waits & Waits.ForRate) !== 0;
  }

  /** @param borrowed the bytes are only valid during the call, unless they are in memory of the source's own */
  write(chunk: Buffer, borrowed: boolean): void {
    const { target, memory } = this;
    if (this.#inFlight !== undefined && target.writableLength === 0) this.#giveBack();
    const taken = this.isPlain ? tryWrite(target, chunk) : 0;
    const rest = taken === 0 ? chunk : chunk.subarray(taken);
    const isKept = borrowed && memory?.isOwn === true;
    const hasRoom = rest.length === 0 || target.write(borrowed && !isKept ? Buffer.from(rest) : rest);
    const isBehind = rest.length > 0 && target.writableLength > 0;
    if (isBehind && isKept) this.#keep(memory.keep());
    // A session that is idle keeps no buffer.
    memory?.useOwn(chunk.length >= LARGE);
    // Without room `drain` follows.
    if (isBehind && !hasRoom) this.#wait(Waits.ForTarget);
    if (this.rate > 0) this.#limit(chunk.length);
  }

  /** The target has sent everything. */
  onDrain(): void {
    if (this.#inFlight !== undefined) this.#giveBack();
    this.#goOn(Waits.ForTarget);
  }

  /** The rate allows more. */
  onDeadline(): void {
    this.#goOn(Waits.ForRate);
  }

  /** Nothing is read any more. */
  stop(): void {
    this.context.timers.forget(this);
    this.source.pause();
    this.memory?.useOwn(false);
    // What is not sent yet is left to the garbage collector.
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
    const elapsed = context.clock.now - this.#startedAt;
    const left = Math.floor((rate * (elapsed + 1000)) / 1000) - this.#received;
    memory?.limit(Math.max(left, 1));
    const wait = Math.ceil((Math.max(length, -left) * 1000) / rate);
    if (wait < 1) return;
    this.#wait(Waits.ForRate);
    context.timers.arm(this, wait);
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
