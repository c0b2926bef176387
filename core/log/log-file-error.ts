import { systemErrorText } from '../contract/system-error.js';

/** A log cannot be written to. The message is nginx's. */
export class LogTargetError extends Error {}

/** A log file could not be opened. */
export class LogFileError extends LogTargetError {
  constructor(path: string, cause: unknown) {
    super(`open() "${path}" failed (${systemErrorText(cause)})`, { cause });
  }
}
