import type { LogLevel, LogRecord, LogRecords } from '../../core/contract/log.js';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { ErrorItem } from './log-items.js';

/** From the least severe one on. */
const LEVELS: readonly LogLevel[] = ['debug', 'info', 'notice', 'warn', 'error', 'crit', 'alert', 'emerg'];

/** Follows the error log of this thread, from a level on. */
export class ErrorItems {
  #least = Infinity;
  #unfollow: (() => void) | undefined;

  constructor(
    private readonly records: LogRecords,
    private readonly info: Pick<ServerInfo, 'worker'>,
    private readonly take: (item: ErrorItem) => void,
  ) {}

  /** @param level the lowest one; undefined: nothing is followed */
  use(level: LogLevel | undefined): void {
    this.#least = level === undefined ? Infinity : LEVELS.indexOf(level);
    if (level === undefined) this.stop();
    else this.#unfollow ??= this.records.follow((record) => this.#logged(record));
  }

  stop(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  #logged(record: LogRecord): void {
    if (LEVELS.indexOf(record.level) < this.#least) return;
    // Fields of requests are strings of bytes already.
    this.take({ ...record, message: Buffer.from(record.message).toString('latin1'), kind: 'error', worker: this.info.worker });
  }
}
