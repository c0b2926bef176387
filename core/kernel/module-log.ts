import type { HttpRequest } from '../module/http.js';
import { Log, type LogLevel } from '../module/services.js';

/** The error log of one module: its name precedes each message. */
export class ModuleLog extends Log {
  constructor(
    private readonly name: string,
    private readonly log: Log,
  ) {
    super();
  }

  enabled(level: LogLevel): boolean {
    return this.log.enabled(level);
  }

  write(level: LogLevel, text: string, request?: HttpRequest): void {
    this.log.write(level, `${this.name}: ${text}`, request);
  }
}
