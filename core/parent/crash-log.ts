import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { errorLine } from '../log/error-line.js';
import { asUser } from './as-user.js';
import type { Owner } from './protocol.js';

const { O_WRONLY, O_APPEND, O_CREAT, O_NONBLOCK } = constants;
const LOG_MODE = 0o644;

/** Lines of the parent about its server, in the error log of the server, which cannot write any more. */
export class CrashLog {
  constructor(private readonly owner: Owner) {}

  /** @param paths error logs of the configuration; undefined: the standard error stream */
  alert(paths: readonly (string | undefined)[], text: string): void {
    const line = `${errorLine('alert', text, `${process.pid}#0`, undefined, new Date())}\n`;
    for (const path of paths) {
      if (path === undefined) process.stderr.write(line);
      else this.#append(path, line);
    }
  }

  /** With the rights of the server: its user could have put a link there. */
  #append(path: string, line: string): void {
    const append = (): void => appendTo(path, line);
    try {
      if (this.owner.uid === process.getuid?.()) append();
      else asUser(this.owner, append);
    } catch {
      // The disk is full, or the folder is gone: the next server says so.
    }
  }
}

/** A pipe without a reader is an error: nothing waits for it. */
function appendTo(path: string, line: string): void {
  const descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK, LOG_MODE);
  try {
    writeSync(descriptor, line);
  } finally {
    closeSync(descriptor);
  }
}
