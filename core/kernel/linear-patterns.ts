import { setFlagsFromString } from 'node:v8';

/**
 * Regular expressions such as `(a+)+$` may try for years with a short text. V8 goes on without trying, in linear time, where an expression has
 * needed 50,000 steps back and has no references and no look-around. PCRE gives up then. For all threads of the process; called before any
 * expression of a configuration is compiled.
 */
export function limitBacktracking(): void {
  setFlagsFromString('--enable-experimental-regexp-engine-on-excessive-backtracks');
}
