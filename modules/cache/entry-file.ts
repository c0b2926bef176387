/** Files of a cache: a header of our own, then the body. */
import { close, fstat, open, read, type Stats } from 'node:fs';
import { open as openHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { KeptEntry } from './kept-entries.js';
import type { HeadMemory } from './head-memory.js';
import type { BodySource } from '../../core/contract/http.js';
import type { SystemFiles } from '../../core/contract/system-files.js';

// Descriptors and not handles: an unclosed handle ends the process.
const [openFile, statFile] = [promisify(open), promisify<number, Stats>(fstat)];

const MAGIC = Buffer.from('SRVCACHE');
const VERSION = 3;
/** Offsets in the header, whose checksum is that of all after it. */
const At = {
  version: 8,
  length: 12,
  checksum: 16,
  checked: 24,
  bodyLength: 24,
  date: 32,
  validUntil: 40,
  modified: 48,
  updating: 56,
  error: 60,
  born: 64,
  flags: 72,
  generation: 76,
  texts: 84,
} as const;
/** The first read of a file, in bytes: for most of them the only one. */
export const FIRST_READ = 16_384;
const scratch = Buffer.allocUnsafeSlow(FIRST_READ);
const NOTHING = Buffer.alloc(0);
/** A header that claims to be longer is damaged. */
const LONGEST_HEADER = 1_048_576;

/** Limits of the use of a stored response: bits of {@link StoredHead.flags}. */
export const StoredFlag = {
  /** Never used stale (must-revalidate and the like). */
  NeverStale: 1,
  /** Never used without validation (no-cache). */
  AlwaysValidated: 2,
  /** The body is still being written, and its length is -1 unless the member has named it. No file of the cache has that. */
  Arriving: 4,
} as const;

/** A response as it is stored, without its body. Texts are bytes as latin1. */
export interface StoredHead {
  readonly key: string;
  /** Value of Vary; empty: there is none. */
  readonly vary: string;
  /** Digest of the fields of the request that it names. */
  readonly variant: string;
  /** Random text in the names of the files of other variants: when the file of the key is gone, so are they. */
  readonly seed: string;
  readonly etag: string;
  /** Tags of the response, separated by spaces: it is purged by each of them. */
  readonly tags: string;
  /** The last purge of its cache when the member was asked: later ones are about it. */
  readonly generation: number;
  /** Seconds since 1970 of Last-Modified; NaN: none. */
  readonly modified: number;
  /** Epoch milliseconds when it came, and until when it is fresh. */
  readonly date: number;
  readonly validUntil: number;
  /** Epoch milliseconds when its Age was 0: before `date` where a member or a cache before it had kept it for a while. */
  readonly born: number;
  /** Limits of its use, see {@link StoredFlag}. */
  readonly flags: number;
  /** Seconds for which it may be used after that while it is renewed, and when members fail. */
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  /** Status line, field lines and the empty line. */
  readonly head: string;
  readonly bodyLength: number;
}

/** Loaded where something is stored: workers start without it. */
function checksumOf(head: Buffer): number {
  return process.getBuiltinModule('node:zlib').crc32(head.subarray(At.checked));
}

/** The bytes before the body. */
export function encodeHead(entry: StoredHead): Buffer {
  const texts = [entry.key, entry.vary, entry.variant, entry.seed, entry.etag, entry.tags, entry.head].map((text) =>
    Buffer.from(text, 'latin1'),
  );
  const length = texts.reduce<number>((sum, text) => sum + 4 + text.length, At.texts);
  const bytes = Buffer.alloc(length);
  MAGIC.copy(bytes);
  bytes.writeUInt32LE(VERSION, At.version);
  bytes.writeUInt32LE(length, At.length);
  bytes.writeDoubleLE(entry.bodyLength, At.bodyLength);
  bytes.writeDoubleLE(entry.date, At.date);
  bytes.writeDoubleLE(entry.validUntil, At.validUntil);
  bytes.writeDoubleLE(entry.modified, At.modified);
  bytes.writeDoubleLE(entry.born, At.born);
  bytes.writeUInt32LE(entry.flags, At.flags);
  bytes.writeUInt32LE(entry.staleWhileRevalidate, At.updating);
  bytes.writeUInt32LE(entry.staleIfError, At.error);
  bytes.writeDoubleLE(entry.generation, At.generation);
  let at: number = At.texts;
  for (const text of texts) {
    bytes.writeUInt32LE(text.length, at);
    at += 4 + text.copy(bytes, at + 4);
  }
  bytes.writeUInt32LE(checksumOf(bytes), At.checksum);
  return bytes;
}

/** The head at the beginning of `bytes`. A number: it has so many bytes, more than there are. Undefined: it is damaged, or of another version. */
export function decodeHead(bytes: Buffer): StoredHead | number | undefined {
  if (bytes.length < At.texts || !bytes.subarray(0, MAGIC.length).equals(MAGIC) || bytes.readUInt32LE(At.version) !== VERSION)
    return undefined;
  const length = bytes.readUInt32LE(At.length);
  if (length < At.texts || length > LONGEST_HEADER) return undefined;
  if (length > bytes.length) return length;
  if (checksumOf(bytes.subarray(0, length)) !== bytes.readUInt32LE(At.checksum)) return undefined;
  let at: number = At.texts;
  const text = (): string => {
    const end = at + 4 + bytes.readUInt32LE(at);
    const found = bytes.latin1Slice(at + 4, end);
    at = end;
    return found;
  };
  const [key, vary, variant, seed, etag, tags, head] = [text(), text(), text(), text(), text(), text(), text()];
  return {
    key,
    vary,
    variant,
    seed,
    etag,
    tags,
    head,
    bodyLength: bytes.readDoubleLE(At.bodyLength),
    date: bytes.readDoubleLE(At.date),
    validUntil: bytes.readDoubleLE(At.validUntil),
    modified: bytes.readDoubleLE(At.modified),
    born: bytes.readDoubleLE(At.born),
    flags: bytes.readUInt32LE(At.flags),
    staleWhileRevalidate: bytes.readUInt32LE(At.updating),
    staleIfError: bytes.readUInt32LE(At.error),
    generation: bytes.readDoubleLE(At.generation),
  };
}

/** Bytes before the body, in which a head was found. */
export function headLength(bytes: Buffer): number {
  return bytes.readUInt32LE(At.length);
}

/** A response that is not fresh any more. @param purge number of the purge since which it is stale: epoch milliseconds, unless the clock was set back */
export function expired(stored: StoredHead, purge: number): StoredHead {
  return { ...stored, validUntil: Math.min(stored.validUntil, purge > Date.now() ? 0 : purge) };
}

/** An open file of a cache. Closed by who has it, or with the body that it is sent as. */
export class EntryFile implements BodySource {
  #isClosed = false;

  /** @param file -1: it is closed, and all of it is in `first` */
  private constructor(
    private readonly file: number,
    public stored: StoredHead,
    /** The first bytes of the file, and the offset of the body. */
    private readonly first: Buffer,
    private readonly start: number,
    /** Makes the calls in this thread, as far as they wait for no disk. Undefined: others make all of them. */
    private readonly files: SystemFiles | undefined,
  ) {}

  /** Undefined: there is none. `damaged`: it cannot be used, and wants to be removed. @throws (rejects) Error of the system */
  static async open(path: string): Promise<EntryFile | 'damaged' | undefined> {
    let file: number;
    try {
      file = await openFile(path, 'r');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const entry = await EntryFile.#read(file);
      if (entry === undefined) closeFile(file);
      return entry ?? 'damaged';
    } catch (error) {
      closeFile(file);
      throw error;
    }
  }

  /**
   * Opens a file without a switch of threads. `elsewhere`: a disk has to be asked, its head is longer than {@link FIRST_READ}, or it cannot be used.
   * @param path text of single bytes
   * @throws Error of the system
   */
  static openNow(this: void, files: SystemFiles, path: string, name: string, heads: HeadMemory): EntryFile | 'elsewhere' | undefined {
    let file: number | undefined;
    try {
      file = files.open(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    if (file === undefined) return 'elsewhere';
    let entry: EntryFile | undefined;
    try {
      entry = EntryFile.#readNow(files, file, name, heads);
      return entry ?? 'elsewhere';
    } finally {
      if (entry === undefined || entry.file < 0) files.close(file);
    }
  }

  static #readNow(files: SystemFiles, file: number, name: string, heads: HeadMemory): EntryFile | undefined {
    const bytes = scratch.subarray(0, files.read(file, scratch, 0) ?? 0);
    const known = heads.find(name, bytes);
    const stored = known ?? decodeHead(bytes);
    if (stored === undefined || typeof stored === 'number') return undefined;
    const start = headLength(bytes);
    if (known === undefined) heads.keep(name, bytes.subarray(0, start), stored);
    const length = start + stored.bodyLength;
    if (length <= bytes.length) return new EntryFile(-1, stored, Buffer.from(bytes.subarray(0, length)), start, undefined);
    return files.statusOf(file).size === length ? new EntryFile(file, stored, NOTHING, start, files) : undefined;
  }

  static async #read(file: number): Promise<EntryFile | undefined> {
    let bytes = await readStart(file, FIRST_READ);
    let stored = decodeHead(bytes);
    if (typeof stored === 'number') {
      bytes = await readStart(file, stored);
      stored = decodeHead(bytes);
    }
    if (stored === undefined || typeof stored === 'number') return undefined;
    const start = headLength(bytes);
    // One that was cut off is not whole; a short one has been read already.
    const isWhole = start + stored.bodyLength <= bytes.length || (await statFile(file)).size === start + stored.bodyLength;
    return isWhole ? new EntryFile(file, stored, bytes, start, undefined) : undefined;
  }

  /** Without the file. */
  static ofKept({ stored, body }: KeptEntry): EntryFile {
    return new EntryFile(-1, stored, body, 0, undefined);
  }

  /** Undefined: it is not in memory, or not as a whole. */
  get body(): Buffer | undefined {
    if (this.file >= 0) return undefined;
    return this.start === 0 ? this.first : this.first.subarray(this.start);
  }

  /** All its bytes. Undefined: it was not read as a whole. */
  get whole(): Buffer | undefined {
    const { first, stored, start } = this;
    const length = start + stored.bodyLength;
    return length > first.length ? undefined : first.subarray(0, length);
  }

  /** The same file, of a response that is not fresh any more. @param purge see {@link expired} */
  expired(purge: number): EntryFile {
    this.stored = expired(this.stored, purge);
    return this;
  }

  get length(): number {
    return this.stored.bodyLength;
  }

  get descriptor(): number {
    return this.files === undefined ? -1 : this.file;
  }

  get descriptorStart(): number {
    return this.start;
  }

  read(into: Buffer, offset: number): number | Promise<number> {
    const { first, start } = this;
    if (start + offset < first.length || this.file < 0) return first.copy(into, 0, start + offset);
    const count = this.files?.alwaysWaits === false ? this.files.read(this.file, into, start + offset) : undefined;
    return count ?? readFile(this.file, into, into.length, start + offset);
  }

  close(): void {
    if (this.#isClosed || this.file < 0) return;
    this.#isClosed = true;
    if (this.files === undefined) closeFile(this.file);
    else this.files.close(this.file);
  }
}

async function readStart(file: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  return bytes.subarray(0, await readFile(file, bytes, length, 0));
}

function readFile(file: number, into: Buffer, length: number, position: number): Promise<number> {
  return new Promise((resolve, reject) =>
    read(file, into, 0, length, position, (error, count) => (error === null ? resolve(count) : reject(error))),
  );
}

/** It was only read: an error loses nothing. */
function closeFile(file: number): void {
  close(file, () => undefined);
}

/** Gives a stored response another head. One write, whose checksum shows when it was not completed. Nothing happens if another response is there now. */
export async function rewriteHead(path: string, former: StoredHead, entry: StoredHead): Promise<void> {
  const file = await openHandle(path, 'r+');
  try {
    const { buffer: bytes } = await file.read(Buffer.alloc(At.texts), 0, At.texts, 0);
    const isSame = bytes.readDoubleLE(At.date) === former.date && bytes.readDoubleLE(At.bodyLength) === former.bodyLength;
    if (isSame) await file.write(encodeHead(entry), 0, undefined, 0);
  } finally {
    await file.close();
  }
}
