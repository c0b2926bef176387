import type { LogLevel } from '../contract/log.js';
import { ErrorLog } from '../log/error-log.js';
import type { Console } from './console.js';

/** The log of a command that writes no file: for the user of the command, with the lines of a stack as lines. */
export class TerminalLog extends ErrorLog {
  constructor(private readonly console: Console) {
    super(console.files, '', [{ path: 'stderr', level: 'notice' }]);
  }

  override write(level: LogLevel, text: string): void {
    if (this.enabled(level)) this.console.advise(`[${level}] ${text}`);
  }
}
