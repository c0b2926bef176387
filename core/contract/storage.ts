/** New value of one entry; undefined: it is removed. */
export type StorageChanges = Readonly<Record<string, string | undefined>>;

/**
 * Durable storage of a module: texts by key, in the data folder of the server, in files of mode 0600. In the main thread, from `start` on.
 * Each module has its own, by its name. It outlives the module: one that is loaded again finds it. Not replicated: workers get the values
 * that a channel carries.
 */
export abstract class Storage {
  /** Undefined: there is none. */
  abstract get(key: string): string | undefined;
  /** In the order of their keys. @param prefix of the keys */
  abstract entries(prefix?: string): [key: string, value: string][];
  /**
   * Writes all of the changes or, if it throws, none. They are on disk when it returns; the main thread waits for the disk meanwhile: not for each request.
   * @throws RangeError for a key longer than 1 KiB, a value longer than 1 MiB, or more than 64 MiB in all; ApiError 507 `StoreFull`, 503 `StoreUnavailable`
   */
  abstract write(changes: StorageChanges): void;
}
