import type { Tasks } from '../../core/contract/tasks.js';
import { lostEntry, type FedEntry, type LogLine } from './entry.js';

/** Entries of a worker are sent together after this time (ms); of more than `MOST` in that time the rest is left out, and counted. */
const INTERVAL = 50;
const MOST = 400;

/** Collects the entries of one worker for the main thread. */
export class EntrySender {
  #entries: LogLine[] = [];
  #lost = 0;
  #isWaiting = false;

  constructor(
    private readonly tasks: Tasks,
    private readonly send: (entries: readonly FedEntry[]) => void,
  ) {}

  /** True: an entry that is made now is sent. False: it is counted as lost, and need not be made. */
  admits(): boolean {
    if (this.#entries.length < MOST) return true;
    this.#lost++;
    return false;
  }

  add(entry: LogLine): void {
    this.#entries.push(entry);
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.tasks.after(INTERVAL, () => this.#flush());
  }

  #flush(): void {
    const entries: FedEntry[] = this.#entries;
    if (this.#lost > 0) entries.push(lostEntry(this.#lost, 'more lines than can be shown'));
    this.#entries = [];
    this.#lost = 0;
    this.#isWaiting = false;
    this.send(entries);
  }
}
