/** The error log for unit tests. */
import { Log, type LogLevel } from '../core/contract/log.js';

/** Keeps what a module logs. */
export class FakeLog extends Log {
  /** `[level] text`. */
  readonly lines: string[] = [];

  /** @param levels levels that are written; all without it */
  constructor(private readonly levels?: readonly LogLevel[]) {
    super();
  }

  write(level: LogLevel, text: string): void {
    if (this.enabled(level)) this.lines.push(`[${level}] ${text}`);
  }

  enabled(level: LogLevel): boolean {
    return this.levels?.includes(level) ?? true;
  }
}
