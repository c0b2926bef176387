import { systemErrorText } from '../module/system-error.js';

/** A log file could not be opened. The message is nginx's. */
export class LogFileError extends Error {
  constructor(path: string, cause: unknown) {
    super(`open() "${path}" failed (${systemErrorText(cause)})`, { cause });
  }
}
