import { lostEntry, type FedEntry } from './entry.js';

/** Entries that are kept. */
const KEPT = 2048;

/** The last entries, by positions that grow by one an entry. */
export class EntryRing {
  #entries: FedEntry[] = [];
  #first = 0;
  readonly #waiting = new Set<() => void>();

  /** Position of the entry to come. */
  get end(): number {
    return this.#first + this.#entries.length;
  }

  add(entries: readonly FedEntry[]): void {
    this.#entries.push(...entries);
    if (this.#entries.length >= 2 * KEPT) {
      this.#first += this.#entries.length - KEPT;
      this.#entries = this.#entries.slice(-KEPT);
    }
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const step of waiting) step();
  }

  /** Entries from a position on, and where the next ones are; an entry that counts the dropped ones precedes them. */
  read(position: number, limit: number): { readonly entries: readonly FedEntry[]; readonly next: number } {
    const lost = this.#first - position;
    const from = Math.max(position, this.#first);
    const entries = this.#entries.slice(from - this.#first, from - this.#first + limit);
    const next = from + entries.length;
    return { entries: lost > 0 ? [lostEntry(lost, 'read too slowly'), ...entries] : entries, next };
  }

  /** Calls `step` once when there are more entries. @returns takes it back */
  onEntry(step: () => void): () => void {
    this.#waiting.add(step);
    return () => void this.#waiting.delete(step);
  }

  /** Resolves with true when there is an entry at a position, and with false after `ms` milliseconds. */
  wait(position: number, ms: number): Promise<boolean> {
    if (position < this.end) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        forget();
        resolve(false);
      }, ms);
      const forget = this.onEntry(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }
}
