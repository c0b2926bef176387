/** State that the requests of every traffic engine have, for what modules of several engines share. */
export interface RequestState {
  /** Captures of the last regular expression that matched: `$1`, `$name`. */
  captures: RegExpExecArray | undefined;
  /** A module's own state. `key` is any object of the module, by identity. */
  get(key: object): unknown;
  set(key: object, value: unknown): void;
}
