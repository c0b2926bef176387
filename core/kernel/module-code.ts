import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CodeVersion, LoadedFile, LoadedFiles } from '../config/module-share.js';

/** An import of a file, or of what its own package.json names; all others are packages. */
const RELATIVE = /^(?:\.{0,2}\/|file:|#)/;
/** As many are worth a warning: a server with two workers may need 4 MB for each. */
const MANY_VERSIONS = 50;
/** In the query of a URL. Node.js loads a file once for each URL. */
const PARAMETER = 'srv-version';

/** The URL under which that version of a file is loaded. */
export function versionUrl({ file, version }: CodeVersion): string {
  return withVersion(pathToFileURL(file).href, version);
}

function withVersion(url: string, version: number): string {
  return version === 0 ? url : `${url}?${PARAMETER}=${version}`;
}

/** 0: it was loaded first. */
export function versionOfUrl(url: string): number {
  const at = url.lastIndexOf(`?${PARAMETER}=`);
  return at < 0 ? 0 : Number(url.slice(at + PARAMETER.length + 2));
}

/**
 * The code of the modules that do not come with srv, and of what they import. Node.js retains what a thread has loaded; with the same
 * bytes in every thread workers that are started later run the same code, whatever has become of the files.
 */
export class ModuleCode {
  readonly #files = new Map<string, LoadedFile & { readonly imports: Map<string, string> }>();
  /** Files of modules, what these import by a relative path, and so on: a new version of the module has new ones of these. */
  readonly #own = new Set<string>();
  /** Code that is loaded once: packages that those import, and CommonJS, of which Node.js finds what it has loaded by the path alone. */
  readonly #once = new Set<string>();
  /** Versions of modules that were imported without an error, oldest first. */
  readonly #versions = new Map<string, number[]>();
  #last = 0;

  /** Their files, in the order they were read. */
  get paths(): string[] {
    return Array.from(this.#files.keys(), (url) => fileURLToPath(url));
  }

  /** Node.js never releases code. Undefined: there is not much of it. */
  get warning(): string | undefined {
    const later = [...this.#versions.values()].reduce((sum, { length }) => sum + length - 1, 0);
    if (later < MANY_VERSIONS) return undefined;
    const text = `${later} later versions of modules were loaded, whose memory is not released`;
    return `${text}: "srv -s upgrade" or a restart releases it`;
  }

  /** A number for what is loaded next: that of the first load is 0. */
  next(): number {
    return this.#own.size === 0 ? 0 : ++this.#last;
  }

  /** Takes over what another thread has loaded. */
  adopt(files: LoadedFiles): void {
    for (const [url, { imports, ...file }] of files) this.#files.set(url, { ...file, imports: new Map(imports) });
  }

  /** The files of these modules, and packages that modules import. */
  filesOf(modules: Iterable<CodeVersion>): LoadedFiles {
    const urls = new Set(Array.from(modules, (code) => [...this.#urlsOf(code)]).flat());
    return new Map([...this.#files].filter(([url]) => urls.has(url) || !this.#own.has(url)));
  }

  /** A module that is about to be imported: what it imports is its code too. */
  addModule(code: CodeVersion): void {
    this.#own.add(versionUrl(code));
  }

  /** Its import has succeeded: when its files become what they were then, it is this version again. */
  loaded({ file, version }: CodeVersion): void {
    const versions = this.#versions.get(file) ?? [];
    if (!versions.includes(version)) this.#versions.set(file, [...versions, version]);
  }

  isLoaded({ file, version }: CodeVersion): boolean {
    return this.#versions.get(file)?.includes(version) === true;
  }

  /** The URL of what a file imports, as another thread has found it. */
  resolved(specifier: string, parent: string | undefined): string | undefined {
    return parent === undefined ? undefined : this.#files.get(parent)?.imports.get(specifier);
  }

  /**
   * The URL under which an import is loaded.
   * @param specifier undefined: it is CommonJS, or imported by it
   * @param url of the file that is imported
   * @param parent the file that imports it
   */
  addImport(specifier: string | undefined, url: string, parent: string): string {
    const isOwn = this.#own.has(parent);
    if (!url.startsWith('file:') || (!isOwn && !this.#once.has(parent))) return url;
    if (!isOwn || specifier === undefined || this.#once.has(url) || !RELATIVE.test(specifier)) {
      this.#once.add(url);
      return url;
    }
    const versioned = withVersion(url, versionOfUrl(parent));
    this.#own.add(versioned);
    this.#files.get(parent)?.imports.set(specifier, versioned);
    return versioned;
  }

  find(url: string): LoadedFile | undefined {
    return this.#files.get(url);
  }

  /** Node.js has read that file. */
  add(url: string, format: string, source: string | ArrayBufferLike | NodeJS.TypedArray): void {
    if (!this.#own.has(url) && !this.#once.has(url)) return;
    if (format.startsWith('commonjs') && this.#own.delete(url)) this.#once.add(url);
    const bytes = typeof source === 'string' ? Buffer.from(source) : bytesOf(source);
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    this.#files.set(url, { format, source: shared, imports: new Map() });
  }

  /** The newest version of a module whose files have the bytes that are on disk now; undefined: none. @param first is asked before the others */
  upToDate(file: string, first: number | undefined): number | undefined {
    if (this.#once.has(versionUrl({ file, version: 0 }))) return 0;
    const versions = [...(this.#versions.get(file) ?? []), ...(first === undefined ? [] : [first])].toReversed();
    return versions.find((version) => [...this.#urlsOf({ file, version })].every((url) => !this.#hasChanged(url)));
  }

  /** Files that are loaded once, and have other bytes now. A missing file has not changed. */
  get outdated(): string[] {
    const once = [...this.#files.keys()].filter((url) => !this.#own.has(url));
    return once.filter((url) => isFile(url) && this.#hasChanged(url)).map((url) => fileURLToPath(url));
  }

  #hasChanged(url: string): boolean {
    const loaded = this.#files.get(url);
    return loaded === undefined || !isFile(url) || !readFileSync(fileURLToPath(url)).equals(loaded.source);
  }

  /** The file of a module, and the files that it imports by a relative path, and so on. */
  #urlsOf(code: CodeVersion): Set<string> {
    const urls = new Set([versionUrl(code)]);
    for (const url of urls) for (const imported of this.#files.get(url)?.imports.values() ?? []) urls.add(imported);
    return urls;
  }
}

function isFile(url: string): boolean {
  return statSync(fileURLToPath(url), { throwIfNoEntry: false })?.isFile() === true;
}

function bytesOf(source: ArrayBufferLike | NodeJS.TypedArray): Uint8Array {
  return ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : new Uint8Array(source);
}

/** That of this thread, as the modules that Node.js has loaded are the thread's. */
export const moduleCode = new ModuleCode();
