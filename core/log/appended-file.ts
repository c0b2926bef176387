import { closeSync, fchmodSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { systemErrorText } from '../contract/system-error.js';
import type { LogFileOptions } from '../contract/log-file-options.js';
import { LogFileError } from './log-file-error.js';
import type { OpenLog } from './open-log.js';

/** Bytes (about) that may wait for the end of the turn before they are written at once. */
const BUFFER_LIMIT = 65_536;
/** Limit of bytes that wait for a slow terminal or pipe; more are dropped, so that a stuck reader never costs memory. */
const BACKLOG_LIMIT = 4 * 1024 * 1024;
const RETRY_MS = 50;

/** Callbacks of an open file to its users. */
export interface FileOwner {
  /** False: a file that was made for a change goes again when the change did not take effect. */
  readonly keepsUnused: boolean;
  /** Its first line of this turn has come: {@link OpenLog.flush} is due at the end of the turn. */
  schedule(file: OpenLog): void;
  /** It is not used any more. */
  forget(): void;
}

/**
 * One open file. The first line of a turn of the event loop is written at once, so that a client that has seen the response finds it. Those after it
 * wait in one string until the turn ends, then leave in one write: a busy server makes two system calls a turn, not one for each line.
 */
export class AppendedFile implements OpenLog {
  #descriptor: number;
  /** How often it was opened and not closed yet. */
  #users = 1;
  #waiting = '';
  /** A line has come in this turn. */
  #isDue = false;
  /** Rest of a short write. */
  #rest: Buffer | undefined;
  #retry: NodeJS.Timeout | undefined;
  /** Lines are being lost, which has been reported. */
  #isLosing = false;
  #onLost: LogFileOptions['onLost'];
  readonly #isSecret: boolean;

  /** @param isNew it did not exist before */
  constructor(
    private readonly path: string,
    private readonly files: FileOwner,
    private readonly isNew: boolean,
    { onLost, secret = false }: Pick<LogFileOptions, 'onLost' | 'secret'>,
  ) {
    this.#onLost = onLost;
    this.#isSecret = secret;
    this.#descriptor = openForAppending(path, secret);
  }

  write(line: string): void {
    this.#waiting += line + '\n';
    if (this.#isDue && this.#waiting.length <= BUFFER_LIMIT) return;
    if (!this.#isDue) this.files.schedule(this);
    this.#isDue = true;
    this.#writeWaiting();
  }

  flush(): void {
    this.#isDue = false;
    this.#writeWaiting();
  }

  #writeWaiting(): void {
    if (this.#waiting === '' && !this.#rest) return;
    const fresh = Buffer.from(this.#waiting, 'utf8');
    this.#waiting = '';
    this.#drain(this.#rest ? Buffer.concat([this.#rest, fresh]) : fresh);
  }

  /** Bytes outside of lines. */
  append(bytes: Buffer): void {
    this.flush();
    this.#drain(this.#rest ? Buffer.concat([this.#rest, bytes]) : bytes);
  }

  reopen(): void {
    this.flush();
    const previous = this.#descriptor;
    this.#descriptor = openForAppending(this.path, this.#isSecret);
    closeDescriptor(previous);
  }

  use(onLost: LogFileOptions['onLost']): this {
    this.#users++;
    this.#onLost = onLost ?? this.#onLost;
    return this;
  }

  close(isUnused = false): void {
    if (--this.#users > 0) return;
    this.files.forget();
    if (isUnused && this.isNew && !this.files.keepsUnused) removeEmpty(this.path);
  }

  /** Its users. */
  shut(): void {
    this.flush();
    clearTimeout(this.#retry);
    closeDescriptor(this.#descriptor);
    this.#descriptor = -1;
  }

  #drain(data: Buffer): void {
    if (this.#descriptor < 0) return;
    let offset = 0;
    this.#rest = undefined;
    try {
      while (offset < data.length) offset += writeSync(this.#descriptor, data, offset);
      this.#isLosing = false;
    } catch (error) {
      // A full pipe is worth waiting for. A full disk or a closed pipe is not: as in nginx, traffic goes on and the lines are lost.
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || data.length - offset > BACKLOG_LIMIT) {
        this.#lost(error);
        return;
      }
      this.#rest = data.subarray(offset);
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.flush();
      }, RETRY_MS).unref();
    }
  }

  #lost(error: unknown): void {
    if (this.#isLosing) return;
    this.#isLosing = true;
    this.#onLost?.(`write() to "${this.path}" failed (${systemErrorText(error)})`);
  }
}

/** Leaves non-empty and missing files unchanged. */
function removeEmpty(path: string): void {
  try {
    const { size } = statSync(path);
    if (size === 0 && standardStream(path) === undefined) unlinkSync(path);
  } catch {
    // Another program has removed it.
  }
}

export function standardStream(path: string): number | undefined {
  if (path === 'stderr' || path === '/dev/stderr') return 2;
  return path === '/dev/stdout' ? 1 : undefined;
}

/** @param isSecret the owner alone may read it */
function openForAppending(path: string, isSecret: boolean): number {
  const stream = standardStream(path);
  if (stream !== undefined) return stream;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'a', isSecret ? 0o600 : 0o644);
    if (isSecret) fchmodSync(descriptor, 0o600);
    return descriptor;
  } catch (error) {
    if (descriptor !== undefined) closeSync(descriptor);
    throw new LogFileError(path, error);
  }
}

function closeDescriptor(descriptor: number): void {
  if (descriptor > 2) closeSync(descriptor);
}
