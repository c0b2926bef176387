import { readFileSync } from 'node:fs';
import { sep } from 'node:path';
import { threadId } from 'node:worker_threads';
import { configErrorsOf, byPosition } from '../config/errors.js';
import { formatConfigErrors, messageWithPlace } from '../config/error-report.js';
import { ErrorLog } from '../log/error-log.js';
import { LogFileError } from '../log/log-file-error.js';
import { AppendedLogFiles } from '../log/log-files.js';
import type { LogLevel } from '../contract/log.js';

const PROGRAM = 'srv';

/** Output of a run: on the standard error stream, and in the error log. */
export class Console {
  readonly log: ErrorLog;
  /** Where messages go that no `error_log` line claims: the file that was asked for, or `stderr` if it cannot be opened. */
  readonly errorLog: string;
  #detached = false;

  /**
   * @param folders where the missing folders of the error log are made: a start works in an empty prefix
   * @param write takes the text for the standard error stream
   * @param print takes the text for the standard output stream
   */
  constructor(
    errorLog: string,
    folders: string,
    private readonly quiet: boolean,
    private write: (text: string) => void,
    readonly files = new AppendedLogFiles(),
    readonly print = (text: string): void => void process.stdout.write(text),
  ) {
    const failure = openDefault(this.files, errorLog, folders);
    this.errorLog = failure === undefined ? errorLog : 'stderr';
    this.log = new ErrorLog(this.files, `${process.pid}#${threadId}`, [{ path: this.errorLog, level: 'notice' }]);
    if (failure !== undefined) this.complain('alert', `could not open error log file: ${failure}`);
  }

  /** A message that is not an error. Not with `-q`. */
  note(text: string): void {
    if (!this.quiet) this.write(`${PROGRAM}: ${text}\n`);
  }

  /** A message that goes with an error and says what to do about it. */
  advise(text: string): void {
    this.write(`${PROGRAM}: ${text}\n`);
  }

  /** Its output goes to another receiver from now on. */
  speakTo(write: (text: string) => void): void {
    this.write = write;
  }

  /** The server runs: from now on what it says goes to the error log alone. */
  detach(): void {
    this.write = () => undefined;
    this.#detached = true;
  }

  /** `srv: [emerg] text`, and a line in the error log. */
  complain(level: LogLevel, text: string): void {
    this.write(`${PROGRAM}: [${level}] ${text}\n`);
    this.#keep(level, text);
  }

  /**
   * Reports every error of the configuration with its place, or any other failure.
   * @returns the text for the user of the command
   */
  report(failure: unknown): string {
    const errors = configErrorsOf(failure)?.toSorted(byPosition);
    const text =
      errors === undefined
        ? `${PROGRAM}: [emerg] ${messageOf(failure)}\n`
        : formatConfigErrors(errors, { program: PROGRAM, readLine: sourceLines() });
    this.write(text);
    for (const line of errors?.map(messageWithPlace) ?? [messageOf(failure)]) this.#keep('emerg', line);
    return text;
  }

  /** A text that another process has made in this form. */
  repeat(text: string): void {
    this.write(text);
  }

  /** In the log as well, unless that is the standard error stream, where it is already. */
  #keep(level: LogLevel, text: string): void {
    if (this.errorLog !== 'stderr' || this.#detached) this.log.write(level, text);
  }
}

const messageOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure));

/** Why the default error log cannot be opened, or undefined when it is open. */
function openDefault(files: AppendedLogFiles, path: string, folders: string): string | undefined {
  try {
    if (path.startsWith(folders + sep)) files.openMakingDirectories(path);
    else files.open(path);
    return undefined;
  } catch (error) {
    if (!(error instanceof LogFileError)) throw error;
    return error.message;
  }
}

/** Reads lines of files, each file once. */
function sourceLines(): (file: string, line: number) => string | undefined {
  const files = new Map<string, readonly string[]>();
  return (file, line) => {
    let lines = files.get(file);
    if (!lines) files.set(file, (lines = linesOf(file)));
    return lines[line - 1];
  };
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/);
  } catch {
    return [];
  }
}
