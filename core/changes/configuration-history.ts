import { withShortCertificates } from '../config/shown-certificates.js';
import { ApiError, assertPreconditions, type ActionContext } from '../contract/control.js';
import { ConfigurationHistory, type HistoryView, type Saved } from '../contract/history.js';
import { shownText } from '../contract/secrets.js';
import { readable } from './address.js';
import { driftLines } from './drift.js';
import type { AddressChange } from './journal-entry.js';
import type { Store } from './store.js';
import { HISTORY_LENGTH, type HistoryEntry } from './store-tables.js';
import type { TransactionQueue } from './transactions.js';

/** The history in the store, and the transactions that lead back. */
export class StoredHistory extends ConfigurationHistory {
  constructor(
    private readonly store: Store,
    private readonly queue: TransactionQueue,
  ) {
    super();
  }

  drift(): readonly string[] {
    return driftLines(this.store.overlay.all());
  }

  save(context: ActionContext): Promise<Saved> {
    return this.queue.save(context);
  }

  entries({ before, limit }: { readonly before?: number; readonly limit: number }): readonly HistoryView[] {
    return this.store.history.before(before ?? Number.MAX_SAFE_INTEGER, limit).map(viewOf);
  }

  rollback(version: number, context: Partial<ActionContext>): Promise<{ readonly version: number; readonly diff: readonly string[] }> {
    const changes = (): AddressChange[] => {
      assertPreconditions(context, () => String(this.queue.version));
      return this.#changesAfter(version);
    };
    return this.queue.rollback(changes, context);
  }

  /** The newest first. */
  #changesAfter(version: number): AddressChange[] {
    const { history } = this.store;
    const [newest] = history.last(1);
    const isKnown = version >= 1 && version <= this.queue.version && version >= (newest?.version ?? 0) - HISTORY_LENGTH;
    if (!isKnown) throw new ApiError(404, 'VersionNotFound', `version ${version} is not in the history`);
    return history.after(version).flatMap((entry) => {
      const changes: unknown = JSON.parse(entry.changes);
      if (changes === null)
        throw new ApiError(409, 'RollbackImpossible', `what version ${entry.version} changed was too long to be kept in the history`);
      return isReload(entry) ? [] : (changes as AddressChange[]).toReversed();
    });
  }
}

const isReload = ({ origin }: HistoryEntry): boolean => origin === 'reload';

function viewOf(entry: HistoryEntry): HistoryView {
  const { version, at, node, origin, actor, message } = entry;
  const kept = JSON.parse(entry.changes) as readonly unknown[] | null;
  if (isReload(entry)) return { version, at, node, origin, actor, message, changes: undefined, diff: (kept ?? []) as readonly string[] };
  const changes = (kept as readonly AddressChange[] | null)?.map(({ address, before, after }) => ({
    place: readable(address),
    ...(before !== undefined && { before: withShortCertificates(shownText(before)) }),
    ...(after !== undefined && { after: withShortCertificates(shownText(after)) }),
  }));
  return { version, at, node, origin, actor, message, changes, diff: [] };
}
