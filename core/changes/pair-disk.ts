import type { Log } from '../contract/log.js';
import { storeApiError } from './api-errors.js';
import type { LogVersion } from './commit-log.js';
import { Store } from './store.js';
import { StoreReleased } from './store-error.js';
import { UnsavedPairs } from './unsaved-pairs.js';

/** The pairs of this node on its disk: in the store of the server, or in one of their own. */
export class PairDisk {
  #own: Store | undefined;
  /** Of several nodes. */
  readonly unsaved = new UnsavedPairs((work) => this.write(work));

  constructor(
    private readonly server: Store,
    private readonly log: Log,
  ) {}

  /** @param folder undefined: the store of the server */
  open(folder: string | undefined): void {
    if (folder !== undefined) this.#own = Store.open(folder);
  }

  get store(): Store {
    return this.#own ?? this.server;
  }

  /** The last version, also of changes that are not written yet. */
  get version(): LogVersion {
    if (this.unsaved.version !== undefined) return this.unsaved.version;
    const { pairEpoch: epoch, pairVersion: number, pairMark: mark } = this.store;
    return mark === 0 ? { epoch, number } : { epoch, number, mark };
  }

  /** @throws ApiError when it could not be written */
  write(work: (store: Store) => void): void {
    const { store } = this;
    try {
      store.keep();
      store.transaction(() => work(store));
    } catch (error) {
      if (error instanceof StoreReleased) throw error;
      this.log.write('error', `cannot store a key-value change: ${error instanceof Error ? error.message : String(error)}`);
      throw storeApiError(error);
    }
  }

  /** Writes what was not written yet as well. @throws ApiError when it could not be written */
  writeWithUnsaved(work: (store: Store) => void): void {
    this.write((store) => {
      this.unsaved.writeInto(store);
      work(store);
    });
    this.unsaved.drop();
  }

  release(): void {
    this.unsaved.flush();
    this.#own?.release();
  }

  /** @throws StoreError */
  reopen(): void {
    this.#own?.reopen();
  }

  close(): void {
    this.unsaved.flush();
    this.#own?.close();
    this.#own = undefined;
  }
}
