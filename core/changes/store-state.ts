import type { StoredRow } from './checked-table.js';
import type { Store } from './store.js';
import type { StateLine } from './state-tables.js';

/** The part of a store that all nodes of a log have in common, as rows of its tables. JSON. */
export interface StoreState {
  readonly overlay: readonly StoredRow[];
  readonly history: readonly StoredRow[];
  readonly keys: readonly StoredRow[];
  readonly nextKeys: readonly StoredRow[];
  /** Lines of state files that are active. The files themselves, and what the store knows of them, are those of each node. */
  readonly stateLines: readonly SharedLine[];
  /** Modules whose directives are in the configuration: a node that has not loaded them cannot take over the state. */
  readonly modules?: readonly string[];
}

type SharedLine = Pick<StateLine, 'block' | 'key' | 'text' | 'place' | 'born' | 'changed'>;

const UNKNOWN_FILE = { written: undefined, since: 0, old: undefined, next: undefined };

export function stateOf({ overlay, history, keys, stateLines }: Store): StoreState {
  return {
    overlay: overlay.table.rows(),
    history: history.table.rows(),
    keys: keys.table.rows(),
    nextKeys: keys.nextTable.rows(),
    stateLines: stateLines.all().map(({ block, key, text, place, born, changed }) => ({ block, key, text, place, born, changed })),
  };
}

/** Makes a state that of a store, inside a store transaction. @param version of the state */
export function putState(store: Store, state: StoreState, version: number): void {
  const { overlay, history, keys, stateLines } = store;
  overlay.table.replace(state.overlay);
  overlay.reread();
  history.table.replace(state.history);
  keys.table.replace(state.keys);
  keys.nextTable.replace(state.nextKeys);
  const gone = new Map(stateLines.all().map((line) => [idOf(line), line]));
  for (const line of state.stateLines) {
    const known = gone.get(idOf(line)) ?? UNKNOWN_FILE;
    gone.delete(idOf(line));
    stateLines.put({ ...known, ...line, text: line.text });
  }
  for (const line of gone.values()) if (line.text !== undefined) stateLines.put({ ...line, text: undefined, changed: version });
}

/** Makes a store, inside a transaction of it, have what another one has of the configuration. */
export function copyStore(from: Store, to: Store): void {
  const pairs = [
    [from.overlay.table, to.overlay.table],
    [from.history.table, to.history.table],
    [from.keys.table, to.keys.table],
    [from.keys.nextTable, to.keys.nextTable],
    [from.stateLines.table, to.stateLines.table],
    [from.stateFiles.table, to.stateFiles.table],
  ] as const;
  for (const [source, target] of pairs) target.replace(source.rows());
  to.overlay.reread();
}

const idOf = ({ block, key }: Pick<StateLine, 'block' | 'key'>): string => `${key} ${block}`;
