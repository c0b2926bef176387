/**
 * Knowledge of the store about a state file: the version that was written last, and the one that is being written. The file gets its name between
 * two transactions; a kill between them leaves either of the two versions, and for both the store knows the file's text of each line.
 */
import type { StateFileContent } from './state-file-content.js';
import { textIn } from './state-file-join.js';
import type { FileVersion, StateLine } from './state-tables.js';
import type { Store } from './store.js';

const NEVER_WRITTEN: FileVersion = { version: 0, digest: '' };

/**
 * Before a version gets the name of the file.
 * @param lines those in which it differs from the version that was written last, as they are in it; they may have changed again since
 */
export function announce(store: Store, block: string, { version, digest }: FileVersion, lines: readonly StateLine[]): void {
  store.transaction(() => {
    for (const line of lines)
      store.stateLines.put({ ...(store.stateLines.get(block, line.key) ?? line), next: { version, text: line.text } });
    const written = store.stateFiles.get(block)?.written ?? NEVER_WRITTEN;
    store.stateFiles.put({ block, written, next: { version, digest } });
    // Later changes have later versions, also after a restart.
    store.version = Math.max(store.version, version);
  });
}

/** After the version has the name of the file. Lines may have changed again meanwhile. */
export function conclude(store: Store, block: string, written: FileVersion): void {
  const { stateLines } = store;
  store.transaction(() => {
    for (const line of stateLines.announced(block, written.version)) {
      const [text, old] = [textIn(line, written.version), { text: line.written, since: line.since }];
      const news = text === line.written ? {} : { written: text, since: written.version, old };
      stateLines.put({ ...line, ...news, next: undefined });
    }
    stateLines.trim(block);
    store.keys.clear(block);
    store.stateFiles.put({ block, written: { version: written.version, digest: written.digest }, next: undefined });
  });
}

/** Concludes a version that got its name in the moment before a kill. */
export function concludeInterrupted(store: Store, block: string, { digest, header }: StateFileContent): void {
  const next = store.stateFiles.get(block)?.next;
  if (next !== undefined && header?.version === next.version && digest === next.digest) conclude(store, block, next);
}
