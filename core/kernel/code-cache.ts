/**
 * Scripts of the bundle, with the code that V8 has compiled for them. The compile cache of Node.js keeps the code of a module as it is when the
 * module is loaded, and V8 compiles a function at its first call. This one keeps the code of a thread that has started: the next one
 * compiles next to nothing.
 */
import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { cachedDataVersionTag } from 'node:v8';
import { Script } from 'node:vm';
import { getEnvironmentData, isMainThread, setEnvironmentData, threadId } from 'node:worker_threads';
import { crc32 } from 'node:zlib';

/** Time that a thread has to start before the code that it uses is kept. */
const SETTLED_MS = 1500;
/** A file begins with the checksum of the rest: V8 ends the process where it is damaged. The code is aligned as V8 wants it. */
const HEADER_BYTES = 8;
/** Name of the data that a main thread hands down to workers. */
const SHARED = 'srv.code';

/** A script whose result is a function. */
export interface BundledScript {
  readonly path: string;
  /** Changes with the text. */
  readonly hash: string;
}

type SharedContent = Buffer<SharedArrayBuffer>;

interface Shared {
  /** Version and flags of V8. */
  readonly tag: number;
  /** Of workers: the file, which is read and checked once, for all of them. */
  readonly code: SharedArrayBuffer | undefined;
  /** The text of the script, for workers. */
  readonly text: SharedArrayBuffer | undefined;
}

/** Runs a script and calls its result. */
export function runScript({ path, hash }: BundledScript, given: readonly unknown[]): Readonly<Record<string, unknown>> {
  const kind = threadKind();
  const folder = process.env['NODE_COMPILE_CACHE'];
  const bytes = isMainThread ? contentOf(path) : undefined;
  if (isMainThread) share({ path, hash }, folder, kind, bytes);
  const shared = getEnvironmentData(SHARED) as Shared | undefined;
  const file = folder === undefined || shared === undefined ? undefined : codeFile(folder, hash, shared.tag, kind);
  const kept = isMainThread ? keptCode(file, path) : shared?.code && Buffer.from(shared.code);
  addSourceMap(path);
  const script = new Script((bytes ?? (shared?.text && Buffer.from(shared.text)) ?? contentOf(path)).latin1Slice(), {
    filename: path,
    cachedData: kept?.subarray(HEADER_BYTES),
  });
  if (file !== undefined && kept === undefined) setTimeout(keepCode, SETTLED_MS, script, file).unref();
  const result = script.runInThisContext() as (...given: readonly unknown[]) => Readonly<Record<string, unknown>>;
  return result(...given);
}

/** Each kind of thread has a file of its own, since it calls other functions. */
function threadKind(): string {
  if (!isMainThread) return 'worker';
  const [, entry = '', first = ''] = process.argv;
  return entry.endsWith('helper/main.js') ? `helper-${first}` : 'main';
}

function share({ path, hash }: BundledScript, folder: string | undefined, kind: string, text: SharedContent | undefined): void {
  const tag = cachedDataVersionTag();
  const hasWorkers = kind === 'main';
  const file = folder !== undefined && hasWorkers ? codeFile(folder, hash, tag, 'worker') : undefined;
  setEnvironmentData(SHARED, { tag, code: keptCode(file, path)?.buffer, text: hasWorkers ? text?.buffer : undefined } satisfies Shared);
}

function codeFile(folder: string, hash: string, tag: number, kind: string): string {
  return join(folder, `srv-${hash}-${tag.toString(16)}`, kind);
}

/** The same file as the build has made it: servers with a folder of their own, as another user, need not begin without. */
function shipped(file: string, path: string): string {
  return join(dirname(path), '../../cache', basename(dirname(file)), basename(file));
}

/** The compiled code of a script. @param file undefined: none is kept */
function keptCode(file: string | undefined, script: string): SharedContent | undefined {
  return file === undefined ? undefined : (soundContentOf(file) ?? soundContentOf(shipped(file, script)));
}

/** Undefined: there is no such file, or it is damaged. */
function soundContentOf(file: string): SharedContent | undefined {
  try {
    const content = contentOf(file);
    return content.length > HEADER_BYTES && content.readUInt32LE() === crc32(content.subarray(HEADER_BYTES)) ? content : undefined;
  } catch {
    return undefined;
  }
}

/** Content of a file, read into memory that threads can share. @throws Error of the system */
function contentOf(path: string): SharedContent {
  const descriptor = openSync(path, 'r');
  try {
    const content = Buffer.from(new SharedArrayBuffer(fstatSync(descriptor).size));
    let length = 0;
    for (let read = -1; read !== 0 && length < content.length; length += read)
      read = readSync(descriptor, content, length, content.length - length, null);
    return content;
  } finally {
    closeSync(descriptor);
  }
}

/** Makes stack traces lead to the sources: Node.js finds the map of a script by generated code with the script's name. */
function addSourceMap(path: string): void {
  Reflect.construct(Function, [`//# sourceURL=${pathToFileURL(path).href}\n//# sourceMappingURL=${basename(path)}.map`]);
}

/** Has no effect where the folder may not be written to. */
function keepCode(script: Script, file: string): void {
  // The code is for the flags of this moment: one may have changed since the start.
  if (cachedDataVersionTag() !== (getEnvironmentData(SHARED) as Shared).tag) return;
  const code = script.createCachedData();
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32LE(crc32(code));
  const unfinished = `${file}.${process.pid}-${threadId}`;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(unfinished, Buffer.concat([header, code]));
    renameSync(unfinished, file);
  } catch {
    // The next start compiles again.
  }
}
