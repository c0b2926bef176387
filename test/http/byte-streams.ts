/** Large bodies that need no memory: made by a rule, checked while they come. */
import { createHash, type Hash } from 'node:crypto';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const PATTERN = Buffer.from(Array.from({ length: 65_521 }, (_, at) => (at * 7919 + (at >> 8)) & 255));

/** `length` bytes that repeat with a period that is no power of two, so that exchanged or lost pieces show. `pauseMs` between pieces. */
export async function* patternBytes(length: number, pieceLength = 65_521, pauseMs = 0): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < length;) {
    const from = sent % PATTERN.length;
    const piece = PATTERN.subarray(from, from + Math.min(pieceLength, length - sent));
    sent += piece.length;
    yield piece;
    if (pauseMs > 0) await sleep(pauseMs);
  }
}

export function patternStream(length: number, pieceLength?: number, pauseMs?: number): Readable {
  return Readable.from(patternBytes(length, pieceLength, pauseMs), { objectMode: false });
}

/** What {@link HashingSink} says of a whole pattern. */
export function patternDigest(length: number): string {
  const hash = createHash('sha256');
  for (let hashed = 0; hashed < length; hashed += PATTERN.length)
    hash.update(PATTERN.subarray(0, Math.min(PATTERN.length, length - hashed)));
  return `${length} ${hash.digest('hex')}`;
}

/** Takes bytes, as slowly as `pauseMs` a piece, and remembers their number and hash only. */
export class HashingSink extends Writable {
  readonly #hash: Hash = createHash('sha256');
  #length = 0;

  constructor(private readonly pauseMs = 0) {
    super({ highWaterMark: 16_384 });
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#hash.update(chunk);
    this.#length += chunk.length;
    if (this.pauseMs === 0) done();
    else setTimeout(done, this.pauseMs);
  }

  /** `<length> <sha256>`. Once. */
  digest(): string {
    return `${this.#length} ${this.#hash.digest('hex')}`;
  }
}
