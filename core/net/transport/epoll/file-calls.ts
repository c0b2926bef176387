import { statSync } from 'node:fs';
import type * as Ffi from 'node:ffi';
import type { FileStatus } from '../../../contract/system-files.js';
import { Errno } from './errno.js';
import type { Registers } from './registers.js';

/** As in `calls.ts`. Calls of files go by their numbers: not every C library has functions for all of them. */
const DEFINITIONS = {
  __errno_location: { arguments: [], return: 'pointer' },
  close: { arguments: ['pointer', 'pointer'], return: 'i32' },
  preadv2: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
  syscall: { arguments: ['pointer', 'pointer', 'pointer', 'pointer', 'pointer', 'pointer'], return: 'i32' },
} as const;

const OPENAT2 = 437n;
const STATX = process.arch === 'x64' ? 332n : 291n;
/** AT_FDCWD. */
const WORKING_FOLDER = BigInt(-100 >>> 0);
/** AT_EMPTY_PATH. */
const OF_DESCRIPTOR = 0x1000n;
/** O_RDONLY, O_NONBLOCK, O_CLOEXEC. */
const READING = 0o2004000;
/** O_PATH, O_CLOEXEC: only a place in the tree. */
const PLACE = 0o12000000;
/** `struct open_how` (openat2(2)): flags, mode, and RESOLVE_CACHED. */
const HOW_SIZE = 24;
const HOW_SIZE_REGISTER = 24n;
const HOW_TO_RESOLVE = 16;
const CACHED = 0x20;
/** STATX_TYPE, _MODE, _MTIME, _CTIME, _INO, _SIZE. */
const WANTED = 0x3c3n;
const STATUS_SIZE = 256;
/** RWF_NOWAIT. */
const NO_WAITING = 8n;
/** PATH_MAX. */
const PATH_SIZE = 4096;
/** Bytes of the kernel's paths: no NUL within them, and no characters of which a part would be lost. */
const NOT_BYTES = /[^\x01-\xff]/;

/** Places in `struct statx`, in words of 32 bits. */
const enum Word {
  Mode = 7,
  Inode = 8,
  Size = 10,
  Changed = 24,
  Modified = 28,
  DeviceMajor = 34,
  DeviceMinor = 35,
}
const WORD = 2 ** 32;
/** The mode has 16 bits. */
const MODE = 0xffff;
/** S_IFMT, S_IFREG, S_IFDIR. */
const KIND = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;

/** A `struct open_how` in memory that C is given. */
interface OpenHow {
  readonly bytes: Buffer;
  readonly at: bigint;
}

function openHow(ffi: typeof Ffi, flags: number, resolve: number): OpenHow {
  const bytes = Buffer.alloc(HOW_SIZE);
  bytes.writeUInt32LE(flags, 0);
  bytes.writeUInt32LE(resolve, HOW_TO_RESOLVE);
  return { bytes, at: ffi.getRawPointer(bytes) };
}

class Status implements FileStatus {
  constructor(
    readonly mode: number,
    readonly size: number,
    readonly mtimeMs: number,
    readonly ctimeMs: number,
    readonly dev: number,
    readonly ino: number,
  ) {}

  isFile(): boolean {
    return (this.mode & KIND) === REGULAR;
  }

  isDirectory(): boolean {
    return (this.mode & KIND) === FOLDER;
  }
}

/** System calls for files of one thread. Results are those of `SystemCalls`. */
export class FileCalls {
  readonly #c: Ffi.DynamicLibraryResult<typeof DEFINITIONS>['functions'];
  readonly #errno: bigint;
  readonly #path: Buffer = Buffer.alloc(PATH_SIZE);
  readonly #pathAt: bigint;
  readonly #empty: Buffer = Buffer.alloc(1);
  readonly #emptyAt: bigint;
  readonly #toRead: OpenHow;
  readonly #toReadCached: OpenHow;
  readonly #toFindCached: OpenHow;
  readonly #status = new Uint32Array(new ArrayBuffer(STATUS_SIZE));
  readonly #statusAt: bigint;
  /** `struct iovec`: where it begins, and its length. */
  readonly #vector = new BigUint64Array(2);
  readonly #vectorAt: bigint;
  readonly #joinedAt: bigint;
  #last: Uint8Array | undefined = undefined;
  #lastAt = 0n;

  constructor(
    private readonly ffi: typeof Ffi,
    private readonly registers: Registers,
    /** See `SystemCalls.joined`. */
    joined: Buffer,
  ) {
    this.#c = ffi.dlopen(null, DEFINITIONS).functions;
    this.#errno = this.#c.__errno_location();
    this.#pathAt = ffi.getRawPointer(this.#path);
    this.#emptyAt = ffi.getRawPointer(this.#empty);
    this.#toRead = openHow(ffi, READING, 0);
    this.#toReadCached = openHow(ffi, READING, CACHED);
    this.#toFindCached = openHow(ffi, PLACE, CACHED);
    this.#statusAt = ffi.getRawPointer(new Uint8Array(this.#status.buffer));
    this.#vectorAt = ffi.getRawPointer(new Uint8Array(this.#vector.buffer));
    this.#joinedAt = ffi.getRawPointer(joined);
  }

  /**
   * Opens a file to read it.
   * @param path text of single bytes
   * @param waits for a disk; otherwise {@link Errno.Again} if the system does not have the path in memory
   */
  open(path: string, waits: boolean): number {
    const error = this.#takePath(path);
    return error < 0 ? error : this.#open(waits ? this.#toRead : this.#toReadCached);
  }

  statusOf(descriptor: number): FileStatus | number {
    const socket = this.registers.of(descriptor);
    return this.#c.syscall(STATX, socket, this.#emptyAt, OF_DESCRIPTOR, WANTED, this.#statusAt) < 0 ? this.#failure() : this.#read();
  }

  /** Follows symbolic links. Parameters are those of {@link open}. */
  status(path: string, waits: boolean): FileStatus | number {
    const error = this.#takePath(path);
    if (error < 0) return error;
    const place = waits ? -Errno.TooManyOpen : this.#open(this.#toFindCached);
    if (place >= 0) {
      const status = this.statusOf(place);
      this.close(place);
      return status;
    }
    // A look at a file needs no descriptor.
    if (place !== -Errno.TooManyOpen && place !== -Errno.TableFull) return place;
    return this.#c.syscall(STATX, WORKING_FOLDER, this.#pathAt, 0n, WANTED, this.#statusAt) < 0 ? this.#failure() : this.#read();
  }

  close(descriptor: number): void {
    this.#c.close(this.registers.of(descriptor), 0n);
  }

  /**
   * Reads a part of a file to a place in `SystemCalls.joined`, as far as the system has it in memory.
   */
  readJoined(file: number, at: number, count: number, from: number): number {
    return this.#readCached(file, this.#joinedAt + this.registers.of(at), count, from);
  }

  /** Reads what the system has in memory of a file: {@link Errno.Again} if it would have to wait for a disk. @returns 0: the file has no more */
  readCached(file: number, into: Uint8Array, from: number): number {
    // Most reads of the small files of one user go to the same buffer.
    if (into !== this.#last) {
      this.#last = into;
      this.#lastAt = this.ffi.getRawPointer(into);
    }
    return this.#readCached(file, this.#lastAt, into.length, from);
  }

  /** Reads one byte in the same way, and drops it. */
  probeCached(file: number, at: number): number {
    return this.#readCached(file, this.#joinedAt, 1, at);
  }

  /** The calls exist, are allowed, and have the expected form: the root folder is the one that Node.js sees. */
  get works(): boolean {
    const descriptor = this.open('/', false);
    if (descriptor < 0) return false;
    const [found, expected] = [this.statusOf(descriptor), statSync('/')];
    this.close(descriptor);
    if (typeof found === 'number' || typeof this.status('/', false) === 'number') return false;
    return found.isDirectory() && found.ino === expected.ino && found.mtimeMs === expected.mtimeMs && found.ctimeMs === expected.ctimeMs;
  }

  #readCached(file: number, intoAt: bigint, length: number, from: number): number {
    const { registers } = this;
    this.#vector[0] = intoAt;
    this.#vector[1] = registers.of(length);
    const count = this.#c.preadv2(registers.of(file), this.#vectorAt, 1n, from === 0 ? 0n : BigInt(from), NO_WAITING);
    return count < 0 ? this.#failure() : count;
  }

  #takePath(path: string): number {
    if (path.length >= PATH_SIZE) return -Errno.NameTooLong;
    if (NOT_BYTES.test(path)) return -Errno.InvalidArgument;
    this.#path[this.#path.latin1Write(path, 0)] = 0;
    return 0;
  }

  #open(how: OpenHow): number {
    const descriptor = this.#c.syscall(OPENAT2, WORKING_FOLDER, this.#pathAt, how.at, HOW_SIZE_REGISTER, 0n);
    return descriptor < 0 ? this.#failure() : descriptor;
  }

  #read(): FileStatus {
    const words = this.#status;
    const mode = (words[Word.Mode] as number) & MODE;
    const device = (words[Word.DeviceMajor] as number) * WORD + (words[Word.DeviceMinor] as number);
    return new Status(mode, this.#wide(Word.Size), this.#time(Word.Modified), this.#time(Word.Changed), device, this.#wide(Word.Inode));
  }

  #wide(at: number): number {
    const words = this.#status;
    return (words[at] as number) + (words[at + 1] as number) * WORD;
  }

  /** Seconds may be below 0. */
  #time(at: number): number {
    const words = this.#status;
    const seconds = (words[at] as number) + ((words[at + 1] as number) | 0) * WORD;
    return seconds * 1000 + (words[at + 2] as number) / 1_000_000;
  }

  #failure(): number {
    return -this.ffi.getInt32(this.#errno);
  }
}
