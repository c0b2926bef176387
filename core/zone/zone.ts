import { Lock } from './lock.js';
import { Slab } from './slab.js';
import type { ZoneArena } from './zone-arena.js';
import { Directory } from './directory.js';
import type { SyncedTable } from './sync/synced-table.js';
import { HEADER_BYTES, MAGIC, MAX_SIZE, VERSION, Word } from './zone-layout.js';

export interface ZoneOptions {
  /** False: memory of one thread, without locking. */
  readonly shared?: boolean;
  /** For memory of one thread: it doubles when it is full. */
  readonly growable?: boolean;
  /** Where small shared memory comes from. */
  readonly arena?: ZoneArena;
}

/** Records that may go when something else in the zone needs their room. */
export interface Droppable {
  /** Drops the record used longest ago, with the zone's lock held. False: there is none that may go. */
  dropOldest(): boolean;
  /** Some could be dropped. With the zone's lock held. */
  readonly isDroppable: boolean;
  /** Reports to the owner of the records what was dropped. Without the lock. */
  reportDropped(): void;
}

/**
 * A named piece of memory that all threads of the data plane see, with a lock and a memory pool in it. Everything in it is named by its
 * byte offset, which is the same in every thread. Memory of one thread alone (`shared: false`) works the same, so that what lives in
 * zones needs no second form for an upstream without `zone`.
 *
 * The lock guards everything in the zone: between {@link enter} and {@link leave} the views may be read and written like plain memory.
 */
export class Zone {
  buffer: ArrayBufferLike;
  i32!: Int32Array;
  u16!: Uint16Array;
  u32!: Uint32Array;
  f64!: Float64Array;
  bytes!: Uint8Array;
  readonly slab: Slab;
  /** Offsets of what lives in the zone, by name. */
  readonly directory: Directory;
  /** Records in it that this thread has opened, by the name of their table. */
  readonly droppable = new Map<string, Droppable>();
  /** Tables in it that nodes share, opened by this thread, by name. */
  readonly synced = new Map<string, SyncedTable>();
  readonly shared: boolean;
  readonly #growable: boolean;
  readonly #lock: Lock;
  #size: number;

  private constructor(
    readonly name: string,
    buffer: ArrayBufferLike,
    growable: boolean,
    /** Where in the buffer it begins. */
    readonly start = 0,
    size = buffer.byteLength,
  ) {
    this.buffer = buffer;
    this.#size = size;
    this.shared = buffer instanceof SharedArrayBuffer;
    this.#growable = growable;
    this.#view();
    this.#lock = new Lock(this.i32, Word.lock);
    this.slab = new Slab(this);
    this.directory = new Directory(this);
  }

  /** New memory of `size` bytes (rounded down to a multiple of 8). The system provides it when it is first touched. @throws RangeError from 2 GB on */
  static create(name: string, size: number, { shared = true, growable = false, arena }: ZoneOptions = {}): Zone {
    if (size > MAX_SIZE) throw new RangeError(`zone "${name}" is too large`);
    const whole = Math.max(size - (size % 8), HEADER_BYTES + 64);
    const place = shared ? arena?.take(whole) : undefined;
    const buffer = place?.buffer ?? (shared ? new SharedArrayBuffer(whole) : new ArrayBuffer(whole));
    const zone = new Zone(name, buffer, growable && !shared, place?.start, whole);
    zone.u32[Word.magic] = MAGIC;
    zone.u32[Word.version] = VERSION;
    zone.u32[Word.size] = whole;
    zone.slab.format();
    return zone;
  }

  /** The zone of memory that another thread created. @throws Error if it is none, or of another version. */
  static attach(name: string, buffer: SharedArrayBuffer, start?: number, size?: number): Zone {
    const zone = new Zone(name, buffer, false, start, size);
    if (zone.u32[Word.magic] !== MAGIC || zone.u32[Word.version] !== VERSION) throw new Error(`not the memory of a zone: "${name}"`);
    return zone;
  }

  get size(): number {
    return this.#size;
  }

  /** Counts the times a thread died inside the lock. The owner of a structure in the zone compares it after {@link enter} and repairs its own. */
  get epoch(): number {
    return this.u32[Word.epoch]!;
  }

  /** Takes the zone's lock. Not re-entrant. */
  enter(): void {
    if (this.shared && this.#lock.acquire()) this.#recover();
  }

  leave(): void {
    if (this.shared) this.#lock.release();
  }

  /** Frees the lock if thread `threadId` died with it. Master only, after the thread has ended. */
  releaseOf(threadId: number): boolean {
    return this.shared && this.#lock.releaseOf(threadId);
  }

  /** Makes private memory larger by `bytes` at least. Offsets stay, views are new. False if it may not grow. */
  grow(bytes: number): boolean {
    if (!this.#growable) return false;
    const before = this.size;
    const size = Math.max(before * 2, before + bytes + 64);
    const larger = new ArrayBuffer(size - (size % 8));
    new Uint8Array(larger).set(this.bytes);
    this.buffer = larger;
    this.#size = larger.byteLength;
    this.#view();
    this.u32[Word.size] = larger.byteLength;
    this.slab.extend(before);
    return true;
  }

  #view(): void {
    const { buffer, start } = this;
    const size = this.#size;
    this.i32 = new Int32Array(buffer, start, size >>> 2);
    this.u16 = new Uint16Array(buffer, start, size >>> 1);
    this.u32 = new Uint32Array(buffer, start, size >>> 2);
    this.f64 = new Float64Array(buffer, start, size >>> 3);
    this.bytes = new Uint8Array(buffer, start, size);
  }

  #recover(): void {
    this.u32[Word.epoch]!++;
    this.slab.repair();
  }
}
