/**
 * A module of Node.js, without the warning that it is experimental. Only that warning is held back, and only while the module loads.
 * @param name `node:sqlite`
 * @param label as the warning calls it: `SQLite`
 * @returns undefined: this Node.js does not have it
 */
export function experimentalBuiltin(name: string, label: string): unknown {
  const { emitWarning } = process as { emitWarning: (this: void, ...args: unknown[]) => void };
  process.emitWarning = (...args: unknown[]): void => {
    if (String(args[0]).includes(`${label} is an experimental feature`)) return;
    emitWarning(...args);
  };
  try {
    return process.getBuiltinModule(name);
  } finally {
    process.emitWarning = emitWarning;
  }
}
