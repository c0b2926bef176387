import type { TlsSessions } from '../../contract/manifest.js';

/** Words of 8 bytes: where the next entry begins, counted from the first one ever; then the table, then the entries. */
const HEAD = 0;
const TABLE = 1;
/** Entries that a bucket of the table leads to. */
const WAYS = 4;
/** Bytes of the table for one of an entry: as many as a usual session has entries. */
const BYTES_A_PLACE = 256;
const WORD = 8;
/** An entry: when it ends (epoch ms), lengths of its id and its session (32 bits each), both of these. */
const ENDS = 0;
const ID_LENGTH = 8;
const LENGTH = 12;
const CONTENT = 16;
/** Bytes of the longest session that is kept: one with a chain of certificates of a client. */
const LONGEST = 8192;

/**
 * Sessions by id, in memory that all threads of a server share, for clients that resume without tickets. The one stored first gives way when the memory is used up.
 *
 * Nothing is locked, so a thread may die at any moment. Entries are written one after the other into a ring. A writer moves the head before it writes; a reader
 * looks at the head after it has read, and drops what may have been written over. The table leads to entries, and is a hint: the id is compared.
 */
export class SharedSessions implements TlsSessions {
  readonly #words: BigInt64Array;
  readonly #bytes: Buffer;
  readonly #view: DataView;
  /** Of the table. */
  readonly #buckets: number;
  /** Of the ring in bytes: where it begins, and how many. */
  readonly #start: number;
  readonly #size: bigint;

  /** @param memory of {@link memoryOf} */
  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
    this.#bytes = Buffer.from(memory);
    this.#view = new DataView(memory);
    this.#buckets = Math.max(Math.floor(memory.byteLength / BYTES_A_PLACE / WAYS), 1);
    this.#start = (TABLE + this.#buckets * WAYS) * WORD;
    this.#size = BigInt(memory.byteLength - this.#start);
  }

  /** @param size bytes */
  static memoryOf(size: number): SharedArrayBuffer {
    return new SharedArrayBuffer(Math.ceil(size / WORD) * WORD);
  }

  store(id: string, session: Buffer, timeout: number): void {
    const length = CONTENT + id.length + session.length;
    if (id.length === 0 || length > Math.min(LONGEST, Number(this.#size) / 2)) return;
    const place = this.#reserve(BigInt(Math.ceil(length / WORD) * WORD));
    const at = this.#offset(place);
    this.#view.setFloat64(at + ENDS, Date.now() + timeout);
    this.#view.setUint32(at + ID_LENGTH, id.length);
    this.#view.setUint32(at + LENGTH, session.length);
    this.#bytes.latin1Write(id, at + CONTENT, id.length);
    session.copy(this.#bytes, at + CONTENT + id.length);
    this.#publish(id, place);
  }

  find(id: string): Buffer | undefined {
    const bucket = this.#bucketOf(id);
    for (let way = 0; way < WAYS; way++) {
      const found = this.#read(Atomics.load(this.#words, bucket + way) - 1n, id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** @returns where the entry begins: it does not go beyond the end of the ring */
  #reserve(length: bigint): bigint {
    for (;;) {
      const head = Atomics.load(this.#words, HEAD);
      const rest = this.#size - (head % this.#size);
      const begin = length <= rest ? head : head + rest;
      if (Atomics.compareExchange(this.#words, HEAD, head, begin + length) === head) return begin;
    }
  }

  /** Two threads may choose the same way: then one of the sessions is not found. */
  #publish(id: string, place: bigint): void {
    const bucket = this.#bucketOf(id);
    let oldest = bucket;
    for (let way = 1; way < WAYS; way++)
      if (Atomics.load(this.#words, bucket + way) < Atomics.load(this.#words, oldest)) oldest = bucket + way;
    // 0: there is none.
    Atomics.store(this.#words, oldest, place + 1n);
  }

  #read(place: bigint, id: string): Buffer | undefined {
    if (place < 0n || !this.#isThere(place)) return undefined;
    const at = this.#offset(place);
    const ends = this.#view.getFloat64(at + ENDS);
    const [idLength, length] = [this.#view.getUint32(at + ID_LENGTH), this.#view.getUint32(at + LENGTH)];
    const begin = at + CONTENT + idLength;
    if (idLength !== id.length || begin + length > this.#bytes.length || this.#bytes.latin1Slice(at + CONTENT, begin) !== id)
      return undefined;
    const session = Buffer.from(this.#bytes.subarray(begin, begin + length));
    return ends > Date.now() && this.#isThere(place) ? session : undefined;
  }

  /** No writer has come to it again. An exchange of nothing: what was read before it was read before. */
  #isThere(place: bigint): boolean {
    return Atomics.add(this.#words, HEAD, 0n) - place <= this.#size;
  }

  #offset(place: bigint): number {
    return this.#start + Number(place % this.#size);
  }

  /** Ids are random. */
  #bucketOf(id: string): number {
    let hash = 0;
    for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) >>> 0;
    return TABLE + (hash % this.#buckets) * WAYS;
  }
}
