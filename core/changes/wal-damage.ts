/**
 * Looks for damage in a write-ahead log of SQLite (sqlite.org/fileformat2.html#walformat). SQLite takes a frame with a wrong checksum for the
 * end of the log: that is right for the last transaction, which a power cut may have torn, and which was not acknowledged then. But it drops
 * whatever is after a frame that went bad later, and says nothing.
 */
import { existsSync, readFileSync } from 'node:fs';

const HEADER = 32;
const FRAME_HEADER = 24;
/** The lowest bit says in which order the bytes of a word are added up. */
const MAGIC = 0x377f0682;

/** True if a later transaction begins after a bad frame: each is synced before the next one begins, so the bad one was whole once. */
export function isWalDamaged(path: string): boolean {
  if (!existsSync(path)) return false;
  const log = readFileSync(path);
  return log.length > HEADER && (!isPageSize(log.readUInt32BE(8)) || new WalFrames(log).areDamaged());
}

/** The header is synced before the first frame is written. */
function isPageSize(bytes: number): boolean {
  return bytes >= 512 && bytes <= 65_536 && (bytes & (bytes - 1)) === 0;
}

type Sums = readonly [number, number];

class WalFrames {
  readonly #frameSize: number;
  readonly #littleEndian: boolean;

  constructor(private readonly log: Buffer) {
    this.#frameSize = FRAME_HEADER + log.readUInt32BE(8);
    this.#littleEndian = log.readUInt32BE(0) === MAGIC;
  }

  areDamaged(): boolean {
    const { log } = this;
    let before = this.#sumsAt(24);
    let bad = !isSame(this.#sum([0, 0], 0, 24), before);
    // A transaction has ended at a bad frame or after it.
    let ended = bad;
    for (let at = HEADER; at + this.#frameSize <= log.length; at += this.#frameSize) {
      // Frames of a log that was here before have other salts.
      const isOurs = log.compare(log, 16, 24, at + 8, at + 16) === 0;
      const isRight = isOurs && isSame(this.#frameSum(before, at), this.#sumsAt(at + 16));
      if (isRight && ended) return true;
      bad ||= !isRight;
      ended ||= bad && isOurs && log.readUInt32BE(at + 4) !== 0;
      before = this.#sumsAt(at + 16);
    }
    return false;
  }

  #frameSum(before: Sums, at: number): Sums {
    return this.#sum(this.#sum(before, at, at + 8), at + FRAME_HEADER, at + this.#frameSize);
  }

  #sum([first, second]: Sums, from: number, to: number): Sums {
    let [a, b] = [first, second];
    for (let at = from; at < to; at += 8) {
      a = (a + this.#word(at) + b) >>> 0;
      b = (b + this.#word(at + 4) + a) >>> 0;
    }
    return [a, b];
  }

  #sumsAt(at: number): Sums {
    return [this.log.readUInt32BE(at), this.log.readUInt32BE(at + 4)];
  }

  #word(at: number): number {
    return this.#littleEndian ? this.log.readUInt32LE(at) : this.log.readUInt32BE(at);
  }
}

const isSame = (left: Sums, right: Sums): boolean => left[0] === right[0] && left[1] === right[1];
