/**
 * Writes down what transactions change, as the overlay over the configuration file: one row an address with its latest state, so that it
 * never grows beyond what the API changed. Called inside a store transaction.
 */
import { ROOT_ID } from '../config/tree.js';
import type { ResolvedEdit } from './edits.js';
import { JournalEntry, type AddressChange, type JournalChange } from './journal-entry.js';
import { LineTexts } from './ordered-lines.js';
import type { Store } from './store.js';

const ORDER: Readonly<Record<ResolvedEdit['op'], number>> = { remove: 0, replace: 1, add: 2 };

export class Journal {
  #seq: number;
  readonly #texts = new LineTexts();

  constructor(private readonly store: Store) {
    this.#seq = store.overlay.lastSeq();
  }

  /** True if the journal says that what the file has there was removed. */
  readonly removed = (address: string): boolean => this.store.overlay.get(address)?.op === 'remove';

  /** True if the journal says that the API added the directive there, and no file has it. */
  readonly added = (address: string): boolean => this.store.overlay.get(address)?.op === 'add';

  /** After rows were written past this class. */
  reread(): void {
    this.#seq = this.store.overlay.lastSeq();
  }

  /** @param version of the configuration with the change */
  record(change: JournalChange, version: number): AddressChange[] {
    const entry = new JournalEntry(this.store, change, version, this.removed, () => ++this.#seq, this.#texts);
    // Removals first: what is added then finds the numbers of its equals as they will be.
    for (const edit of inDocumentOrder(change).toSorted((a, b) => ORDER[a.op] - ORDER[b.op])) entry.record(edit);
    return entry.changes;
  }
}

/**
 * The edits, with removals from one block in the order of the block: what was put in front of something that goes is placed again, and then
 * all that was put in front of that. So each removal finds those before it gone.
 */
function inDocumentOrder({ before, edits }: JournalChange): readonly ResolvedEdit[] {
  const removed = Map.groupBy(
    edits.filter(({ op }) => op === 'remove'),
    ({ id }) => before.parentOf(id)?.id ?? ROOT_ID,
  );
  const places = new Map<number, number>();
  for (const [parent, removals] of removed) {
    if (removals.length < 2) continue;
    const wanted = new Set(removals.map(({ id }) => id));
    for (const { id } of before.byId(parent)?.block ?? before.root) if (wanted.has(id)) places.set(id, places.size);
  }
  return edits.toSorted((a, b) => (places.get(a.id) ?? 0) - (places.get(b.id) ?? 0));
}
