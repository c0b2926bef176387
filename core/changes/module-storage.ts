import { Storage, type StorageChanges } from '../contract/storage.js';
import { storeApiError } from './api-errors.js';
import type { Store } from './store.js';

const MOST_KEY = 1024;
const MOST_VALUE = 1024 ** 2;
const MOST_BYTES = 64 * 1024 ** 2;

/** Durable storage of modules. In the main thread. */
export class ModuleStorages {
  /** @param find undefined: the configuration is not read yet */
  constructor(private readonly find: () => Store | undefined) {}

  /** That of one module. */
  of(module: string): Storage {
    return new ModuleStorage(module, this.find);
  }
}

class ModuleStorage extends Storage {
  constructor(
    private readonly module: string,
    private readonly find: () => Store | undefined,
  ) {
    super();
  }

  get(key: string): string | undefined {
    return this.#store.moduleData.get(this.module, key);
  }

  entries(prefix = ''): [key: string, value: string][] {
    return this.#store.moduleData.all(this.module, prefix);
  }

  write(changes: StorageChanges): void {
    const entries = Object.entries(changes);
    for (const [key, value] of entries) assertShort(key, value);
    const store = this.#store;
    try {
      store.keep();
      store.transaction(() => this.#put(store, entries));
    } catch (error) {
      throw storeApiError(error);
    }
  }

  #put({ moduleData }: Store, entries: readonly (readonly [key: string, value: string | undefined])[]): void {
    for (const [key, value] of entries) {
      if (value === undefined) moduleData.delete(this.module, key);
      else moduleData.put(this.module, key, value);
    }
    const size = moduleData.size(this.module);
    if (size > MOST_BYTES) throw new RangeError(`module "${this.module}" may keep ${MOST_BYTES} bytes, not ${size}`);
  }

  get #store(): Store {
    const store = this.find();
    if (store === undefined) throw new Error('what a module keeps on disk is there from its "start" on');
    return store;
  }
}

/** @throws RangeError, TypeError */
function assertShort(key: string, value: unknown): void {
  const length = Buffer.byteLength(key);
  if (length > MOST_KEY) throw new RangeError(`a key may have ${MOST_KEY} bytes, not ${length}`);
  if (value === undefined) return;
  if (typeof value !== 'string') throw new TypeError(`the value of "${key}" must be a string, not ${typeof value}`);
  const bytes = Buffer.byteLength(value);
  if (bytes > MOST_VALUE) throw new RangeError(`the value of "${key}" may have ${MOST_VALUE} bytes, not ${bytes}`);
}
