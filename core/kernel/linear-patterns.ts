import { setFlagsFromString } from 'node:v8';

/** For threads and processes that are started with flags: {@link limitBacktracking}. */
export const LIMIT_BACKTRACKING = '--enable-experimental-regexp-engine-on-excessive-backtracks';

/**
 * Regular expressions such as `(a+)+$` may try for years with a short text. V8 goes on without trying, in linear time, where an expression has
 * needed 50,000 steps back and has no references and no look-around. PCRE gives up then. For all threads of the process; called before any
 * expression of a configuration is compiled, and before the compile cache is opened: V8 rejects code of other flags.
 */
export function limitBacktracking(): void {
  setFlagsFromString(LIMIT_BACKTRACKING);
}
