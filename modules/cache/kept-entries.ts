import type { Copies, FoundCopy } from '../../core/contract/zones.js';
import { decodeHead, headLength, type StoredHead } from './entry-file.js';

/** A response without its file. */
export interface KeptEntry {
  readonly stored: StoredHead;
  readonly body: Buffer;
}

/** A copy whose head this worker has decoded. */
interface Known {
  readonly found: FoundCopy;
  readonly stored: StoredHead;
  /** Where the body begins. */
  readonly start: number;
  /** Requests that the index does not know of, and when they were reported last: epoch milliseconds. */
  uses: number;
  reported: number;
}

/** Heads of as many copies are remembered. */
const REMEMBERED = 4096;
/** Milliseconds between two reports of the uses of one response. */
const REPORTED_EVERY = 1000;

/** Small responses in memory that all workers share (`memory` of proxy_cache_path): their files, byte by byte. */
export class KeptEntries {
  /** In the order in which they were found. */
  readonly #known = new Map<string, Known>();

  /** @param report counts uses of a name */
  constructor(
    private readonly copies: Copies,
    private readonly report: (name: string, now: number, uses: number) => void,
  ) {}

  get count(): number {
    return this.copies.count;
  }

  get bytes(): number {
    return this.copies.bytes;
  }

  /** Counts as a use. */
  get(name: string, now: number): KeptEntry | undefined {
    const remembered = this.#known.get(name);
    const kept = remembered && this.#read(remembered);
    if (kept !== undefined) {
      this.#count(name, remembered as Known, now);
      return kept;
    }
    const known = this.#find(name);
    if (known === undefined) {
      if (remembered !== undefined) this.#known.delete(name);
      return undefined;
    }
    if (remembered === undefined && this.#known.size >= REMEMBERED) this.#known.delete(this.#known.keys().next().value as string);
    this.#known.set(name, known);
    const found = this.#read(known);
    if (found !== undefined) this.#count(name, known, now);
    return found;
  }

  /** @param file its bytes @param isValid see {@link Copies.offer} */
  offer(name: string, file: Buffer, isValid: () => boolean): void {
    this.copies.offer(name, file, isValid);
  }

  /** After a change of the file: no worker responds with what was in it before. */
  drop(name: string): void {
    this.copies.drop(name);
  }

  #read({ found, stored, start }: Known): KeptEntry | undefined {
    const body = Buffer.allocUnsafe(stored.bodyLength);
    return this.copies.read(found, start, body) ? { stored, body } : undefined;
  }

  #find(name: string): Known | undefined {
    const found = this.copies.find(name);
    if (found === undefined) return undefined;
    const bytes = Buffer.allocUnsafe(found.length);
    if (!this.copies.read(found, 0, bytes)) return undefined;
    const stored = decodeHead(bytes);
    if (stored === undefined || typeof stored === 'number') return undefined;
    const start = headLength(bytes);
    return start + stored.bodyLength === found.length ? { found, stored, start, uses: 0, reported: 0 } : undefined;
  }

  #count(name: string, known: Known, now: number): void {
    known.uses++;
    if (now - known.reported < REPORTED_EVERY) return;
    this.report(name, now, known.uses);
    known.uses = 0;
    known.reported = now;
  }
}
