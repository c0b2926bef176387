import { readFileSync, statSync } from 'node:fs';
import { GrantedFiles, type FileContents } from './granted-files.js';
import { readNamedPipe } from './named-pipe.js';

const NONE: FileContents = new Map();

/**
 * The files that a configuration was made of. The process that checks a configuration reads them, once a change; its other threads are
 * given what it read, so that all see the same bytes. A file that has not changed is the same Buffer as before.
 */
export class InputFiles {
  #inForce = new Map<string, Buffer>();
  /** Read for the change that is being prepared. */
  #coming = new Map<string, Buffer>();
  #given: FileContents | undefined;
  #rereads = false;

  constructor(private readonly granted = new GrantedFiles()) {}

  /**
   * Begins a change.
   * @param rereads current files may have other contents by now
   * @param given what another thread has read for this change: nothing else is new
   */
  begin(rereads: boolean, given: FileContents | undefined): void {
    this.#coming = new Map();
    this.#rereads = rereads && given === undefined;
    this.#given = given;
  }

  /** @throws the error of the system */
  read(path: string): Buffer {
    const known = this.#coming.get(path);
    if (known !== undefined) return known;
    const old = this.#inForce.get(path);
    const given = this.#given?.get(path);
    if (old !== undefined && given === undefined && !this.#rereads) return old;
    const now = given ?? this.#contentOf(path, old);
    const bytes = old?.equals(now) === true ? old : Buffer.from(now.buffer, now.byteOffset, now.byteLength);
    this.#coming.set(path, bytes);
    return bytes;
  }

  #contentOf(path: string, old: Buffer | undefined): Buffer {
    try {
      return contentOf(path, old);
    } catch (error) {
      return this.granted.instead(path, error);
    }
  }

  /** The files that have changed since they were read for the current configuration, or cannot be read any more. */
  changed(paths: Iterable<string>): string[] {
    const changed: string[] = [];
    for (const path of paths) {
      try {
        if (this.read(path) !== this.#inForce.get(path)) changed.push(path);
      } catch {
        changed.push(path);
      }
    }
    return changed;
  }

  /** Files that the change has read: for other threads. */
  get brought(): FileContents {
    return new Map([...this.#coming].filter(([path, bytes]) => this.#inForce.get(path) !== bytes));
  }

  /** All that is active: for a thread that starts. */
  get inForce(): FileContents {
    return this.#inForce;
  }

  commit(): void {
    for (const [path, bytes] of this.#coming) this.#inForce.set(path, bytes);
    this.abort();
  }

  abort(): void {
    this.begin(false, NONE);
  }

  /** Keeps only what is still used. */
  retain(isUsed: (path: string) => boolean): void {
    for (const path of this.#inForce.keys()) if (!isUsed(path)) this.#inForce.delete(path);
  }
}

/** An empty file, by custom. */
const EMPTY = '/dev/null';

/** The content of a pipe is kept until it is written again. */
function pipeContent(path: string, old: Buffer | undefined): Buffer {
  const content = readNamedPipe(path, old === undefined) ?? old;
  if (content === undefined) throw Object.assign(new Error('no process writes to the named pipe'), { syscall: 'open', path });
  return content;
}

/** A file that is not regular may have no end, or wait forever for a writer. */
function contentOf(path: string, old: Buffer | undefined): Buffer {
  const found = statSync(path);
  if (found.isFIFO()) return pipeContent(path, old);
  if (!found.isFile() && !found.isDirectory() && path !== EMPTY)
    throw Object.assign(new Error('not a regular file'), { syscall: 'open', path });
  return readFileSync(path);
}
