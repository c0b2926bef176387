import { Log, type LogLevel } from '../../core/contract/log.js';

/** A log that tests can read. */
export class MemoryLog extends Log {
  readonly lines: string[] = [];

  write(level: LogLevel, text: string): void {
    this.lines.push(`[${level}] ${text}`);
  }

  enabled(): boolean {
    return true;
  }
}
