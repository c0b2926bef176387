import type { LogEntry, LogVersion } from './commit-log.js';

/** Entries of a log as they come, from the last applied one on: a node that has all of them need not ask for more. */
export class EntryBuffer<Content> {
  #entries: LogEntry<Content>[] = [];
  #applied = 0;
  /** It has all there is. */
  #isCurrent = false;

  /** Number of the last entry. */
  get last(): number {
    return this.#entries.at(-1)?.number ?? this.#applied;
  }

  add(entry: LogEntry<Content>): void {
    if (entry.number === this.last + 1) this.#entries.push(entry);
    else if (entry.number > this.last) this.#isCurrent = false;
  }

  /** Takes the entries after a version out of it. Undefined: ask, and {@link asked} for the result; what comes meanwhile is added. */
  take({ number }: LogVersion): readonly LogEntry<Content>[] | undefined {
    this.#applied = Math.max(this.#applied, number);
    const known = this.#entries.filter((entry) => entry.number > number);
    this.#entries = [];
    if (this.#isCurrent && (known[0] === undefined || known[0].number === number + 1)) return known;
    this.#isCurrent = true;
    this.#applied = number;
    return undefined;
  }

  /** @param isAll nothing follows the version that was asked for */
  asked(isAll: boolean): void {
    if (!isAll) this.#isCurrent = false;
  }

  /** This node has appended an entry, and applied what is before it. */
  appended(number: number): void {
    this.#applied = number;
  }

  /** Something may be missing: it is asked for. */
  doubt(): void {
    this.#isCurrent = false;
  }

  /** As {@link doubt}, and what it has may be of another log. */
  clear(): void {
    this.#isCurrent = false;
    this.#entries = [];
  }
}
