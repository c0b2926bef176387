import type { Terminal } from './run-top.js';

/** The terminal of this process. Undefined: output or input is something else. */
export function processTerminal(): Terminal | undefined {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  return {
    size: () => ({ columns: stdout.columns, rows: stdout.rows }),
    keys: (onKey) => {
      const read = (keys: Buffer): void => onKey(keys.toString());
      stdin.setRawMode(true);
      stdin.on('data', read);
      stdin.resume();
      return () => {
        stdin.off('data', read);
        stdin.setRawMode(false);
        stdin.pause();
      };
    },
  };
}
