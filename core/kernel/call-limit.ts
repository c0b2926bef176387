/** Longest time that a hook of a module may keep its thread busy, in milliseconds. */
export const CALL_MS = 10_000;

/** How a call of code that may loop is made. */
export type LimitedCall = <T>(call: () => T) => T;

/**
 * Ends synchronous calls that take too long: in the main thread of a process an endless loop cannot be ended from outside, as the master
 * ends a worker that hangs. The runtime limits scripts, from a thread of its own; nothing in `finally` or `catch` of the loop runs.
 */
export class CallLimit {
  /** Where the script finds the call. */
  readonly #scope: { call: (() => unknown) | undefined } = { call: undefined };
  #script: (() => unknown) | undefined;
  #isSpent = false;

  constructor(private readonly ms = CALL_MS) {}

  /**
   * @returns what `call` returns
   * @throws what it throws, or an Error when it takes longer than the limit. Further calls then fail at once until the thread has come to its
   *   event loop: thousands of locations would each wait for the same loop.
   */
  readonly run: LimitedCall = <T>(call: () => T): T => {
    if (this.#isSpent) throw this.#tooLong();
    const outer = this.#scope.call;
    this.#scope.call = call;
    try {
      this.#script ??= this.#newScript();
      return this.#script() as T;
    } catch (error) {
      if ((error as NodeJS.ErrnoException | undefined)?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      this.#isSpent = true;
      setImmediate(() => (this.#isSpent = false));
      throw this.#tooLong();
    } finally {
      this.#scope.call = outer;
    }
  };

  #newScript(): () => unknown {
    // Loaded when it is used: it is not in most threads.
    const { createContext, Script } = process.getBuiltinModule('node:vm');
    const context = createContext(this.#scope);
    const script = new Script('call()');
    return (): unknown => script.runInContext(context, { timeout: this.ms, displayErrors: false });
  }

  #tooLong(): Error {
    return new Error(`it did not return within ${this.ms / 1000} s`);
  }
}
