import type { HttpRequest } from '../contract/http.js';
import { Log, type LogLevel, type SubjectDetail } from '../contract/log.js';
import type { StreamSession } from '../contract/stream.js';

/** The error log of one module: its name precedes each message. */
export class ModuleLog extends Log {
  constructor(
    private readonly name: string,
    private readonly log: Log,
  ) {
    super();
  }

  enabled(level: LogLevel, subject?: HttpRequest | StreamSession): boolean {
    return this.log.enabled(level, subject);
  }

  write(level: LogLevel, text: string, subject?: HttpRequest | StreamSession, detail?: SubjectDetail): void {
    this.log.write(level, `${this.name}: ${text}`, subject, detail);
  }
}
