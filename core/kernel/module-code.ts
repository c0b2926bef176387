import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** One file as it was loaded first. */
export interface LoadedFile {
  /** How Node.js reads it: `module`, `commonjs`, … */
  readonly format: string;
  /** Its bytes, in memory that threads share. */
  readonly source: Uint8Array;
  /** When it had last been changed then (epoch milliseconds). */
  readonly changedAt: number;
}

/** Files by their URL. */
export type LoadedFiles = ReadonlyMap<string, LoadedFile>;

/**
 * The code of the modules that do not come with srv, and of what they import, as it was loaded first. Node.js retains what a thread has
 * loaded; with the same bytes in every thread workers that are started later run the same code, whatever has become of the files.
 */
export class ModuleCode {
  readonly #files = new Map<string, LoadedFile>();
  readonly #urls = new Set<string>();

  get files(): LoadedFiles {
    return this.#files;
  }

  /** Their files, in the order they were read. */
  get paths(): string[] {
    return Array.from(this.#files.keys(), (url) => fileURLToPath(url));
  }

  /** What the thread that started this one has loaded. */
  adopt(files: LoadedFiles): void {
    for (const [url, file] of files) this.#files.set(url, file);
  }

  /** A module's file: what it imports is its code too. */
  addModule(file: string): void {
    this.#urls.add(pathToFileURL(file).href);
  }

  /** @param parent the file that imports `url` */
  addImport(url: string, parent: string | undefined): void {
    if (parent !== undefined && this.#urls.has(parent) && url.startsWith('file:')) this.#urls.add(url);
  }

  find(url: string): LoadedFile | undefined {
    return this.#files.get(url);
  }

  /** Node.js has read that file. */
  add(url: string, format: string, source: string | ArrayBufferLike | NodeJS.TypedArray): void {
    if (!this.#urls.has(url)) return;
    const bytes = typeof source === 'string' ? Buffer.from(source) : bytesOf(source);
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    this.#files.set(url, { format, source: shared, changedAt: changeTime(fileURLToPath(url)) });
  }

  /** The files that have other bytes now. What is not there any more has not changed: it may have been unloaded. */
  changed(): string[] {
    const paths: string[] = [];
    for (const [url, { source, changedAt }] of this.#files) {
      const path = fileURLToPath(url);
      const time = changeTime(path);
      if (time !== -1 && time !== changedAt && !readFileSync(path).equals(source)) paths.push(path);
    }
    return paths;
  }
}

/** -1: there is no such file. */
function changeTime(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -1;
}

function bytesOf(source: ArrayBufferLike | NodeJS.TypedArray): Uint8Array {
  return ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
}

/** That of this thread, as the modules that Node.js has loaded are the thread's. */
export const moduleCode = new ModuleCode();
