/** How this process ends, whatever becomes of `process.exit`: see {@link forbidExit}. */
export const exitProcess: (code: number) => never = process.exit.bind(process);

/**
 * From now on `process.exit` throws: the code of a module, or of a package that it imports, must not end the main thread of a server, which
 * would log nothing and leave its workers no time.
 */
export function forbidExit(): void {
  process.exit = (code) => {
    throw new Error(`process.exit(${code ?? ''}) is not allowed in a module: it would end the server`);
  };
}
