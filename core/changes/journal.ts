/**
 * Writes down what transactions change, as the overlay over the configuration file: one row an address with its latest state, so that it
 * never grows beyond what the API changed. Called inside a store transaction.
 */
import type { ResolvedEdit } from './edits.js';
import { JournalEntry, type AddressChange, type JournalChange } from './journal-entry.js';
import type { Store } from './store.js';

const ORDER: Readonly<Record<ResolvedEdit['op'], number>> = { remove: 0, replace: 1, add: 2 };

export class Journal {
  #seq: number;

  constructor(private readonly store: Store) {
    this.#seq = store.overlay.lastSeq();
  }

  /** True if the journal says that what the file has there was removed. */
  readonly removed = (address: string): boolean => this.store.overlay.get(address)?.op === 'remove';

  /** True if the journal says that the API added what stands there, and no file has it. */
  readonly added = (address: string): boolean => this.store.overlay.get(address)?.op === 'add';

  /** After rows were written past this class. */
  reread(): void {
    this.#seq = this.store.overlay.lastSeq();
  }

  /** @param version of the configuration with the change */
  record(change: JournalChange, version: number): AddressChange[] {
    const entry = new JournalEntry(this.store, change, version, this.removed, () => ++this.#seq);
    // Removals first: what is added then finds the numbers of its equals as they will be.
    for (const edit of change.edits.toSorted((a, b) => ORDER[a.op] - ORDER[b.op])) entry.record(edit);
    return entry.changes;
  }
}
