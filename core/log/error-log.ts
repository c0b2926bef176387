import type { HttpRequest } from '../contract/http.js';
import type { StreamSession } from '../contract/stream.js';
import { Log, type LogLevel, type LogRecord, type SubjectDetail } from '../contract/log.js';
import type { LogFile } from '../contract/log-files.js';
import { errorLine, isRequest, type LogSubject } from './error-line.js';
import { errorRecord, LogRecordFeed, recordJson } from './error-record.js';
import { severity } from './levels.js';
import type { AppendedLogFiles } from './log-files.js';

/** One `error_log` line: where to and from which level on. */
export interface ErrorLogTarget {
  /** Absolute, or `stderr`. */
  readonly path: string;
  readonly level: LogLevel;
  /** Lines are JSON objects. */
  readonly json?: boolean;
}

interface Sink {
  readonly file: LogFile;
  readonly threshold: number;
  readonly isJson: boolean;
}

/** The opened targets of one scope (main, a server, a location). */
export class ErrorLogSinks {
  /** The most talkative threshold among the sinks: everything above it is written nowhere. */
  readonly threshold: number;

  /** Rejects with LogTargetError where one turns out not to be usable. */
  readonly ready: Promise<unknown>;

  constructor(readonly sinks: readonly Sink[]) {
    this.ready = Promise.all(sinks.flatMap(({ file }) => file.ready ?? []));
    this.ready.catch(() => undefined);
    this.threshold = sinks.reduce((most, sink) => Math.max(most, sink.threshold), -1);
  }

  close(): void {
    for (const { file } of this.sinks) file.close();
  }
}

/**
 * The error log of one thread. Until {@link configure} is called it writes to the targets it was made with, so that nothing that
 * happens before the configuration is read gets lost.
 */
export class ErrorLog extends Log {
  /** Its lines for listeners beside the files. */
  readonly records = new LogRecordFeed();
  #main: ErrorLogSinks;
  #scopeOf: ((request: HttpRequest) => ErrorLogSinks | undefined) | undefined;
  #scopeOfSession: ((session: StreamSession) => ErrorLogSinks | undefined) | undefined;

  /** @param origin process and thread as they are in each line: `4711#2`. */
  constructor(
    readonly files: AppendedLogFiles,
    private readonly origin: string,
    targets: readonly ErrorLogTarget[],
  ) {
    super();
    this.#main = this.open(targets);
  }

  /** Opens targets for a scope. @throws LogTargetError */
  open(targets: readonly ErrorLogTarget[]): ErrorLogSinks {
    return new ErrorLogSinks(
      targets.map(({ path, level, json = false }) => ({ file: this.files.open(path), threshold: severity(level), isJson: json })),
    );
  }

  /** Sets where lines go that no scope claims, and closes what they went to. */
  configure(sinks: ErrorLogSinks): void {
    const before = this.#main;
    this.#main = sinks;
    before.close();
  }

  /** Says which scope's `error_log` a request's lines go to; undefined means the main ones. */
  scopeBy(scopeOf: (request: HttpRequest) => ErrorLogSinks | undefined): void {
    this.#scopeOf = scopeOf;
  }

  /** As {@link scopeBy}, for sessions. */
  scopeSessionsBy(scopeOf: (session: StreamSession) => ErrorLogSinks | undefined): void {
    this.#scopeOfSession = scopeOf;
  }

  enabled(level: LogLevel, subject?: LogSubject): boolean {
    return severity(level) <= (this.#sinksFor(subject) ?? this.#main).threshold;
  }

  write(level: LogLevel, text: string, subject?: LogSubject, detail: SubjectDetail = 'all'): void {
    if (subject !== undefined && isRequest(subject) && subject.explanation !== undefined) {
      subject.explanation.logged(level, text);
      return;
    }
    const { sinks, threshold } = this.#sinksFor(subject) ?? this.#main;
    const rank = severity(level);
    if (rank > threshold) return;
    const now = new Date();
    const line = errorLine(level, text, this.origin, subject, now, detail);
    let record: LogRecord | undefined;
    const fields = (): LogRecord => (record ??= errorRecord(level, text, this.origin, subject, now, detail));
    for (const { file, threshold: least, isJson } of sinks) if (rank <= least) file.write(isJson ? recordJson(fields()) : line, level);
    if (this.records.isFollowed) this.records.pass(fields(), this.#listenerFailed);
  }

  readonly #listenerFailed = (error: unknown): void => {
    this.write('alert', `a listener of the error log has failed, and gets no further lines: ${(error as Error).stack ?? String(error)}`);
  };

  #sinksFor(subject: LogSubject | undefined): ErrorLogSinks | undefined {
    if (subject === undefined) return undefined;
    return isRequest(subject) ? this.#scopeOf?.(subject) : this.#scopeOfSession?.(subject);
  }
}
