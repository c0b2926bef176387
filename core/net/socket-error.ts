/**
 * An error of the system that happened elsewhere.
 * @param code `EADDRINUSE`
 */
export function systemError(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(code), { code });
}
