import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs';
import { number, param, time, word } from '../../contract/args.js';

/** `max=N [inactive=time] [valid=time]` of a cache of certificates; times in milliseconds. */
export interface CertificateCacheOptions {
  readonly max: number;
  readonly inactive: number;
  readonly valid: number;
}

/** Arguments of `ssl_certificate_cache`. */
export const CACHE_ARGUMENTS = {
  off: word('off'),
  max: param('max', number({ min: 1 })),
  inactive: param('inactive', time(), 10_000),
  valid: param('valid', time(), 60_000),
};

/** Entries of a line. */
interface CacheArguments {
  readonly off: boolean;
  readonly max: number | undefined;
  readonly inactive: number;
  readonly valid: number;
}

/** @param fail reports arguments that cannot be used @returns undefined: nothing is cached */
export function cacheOptions(
  { off, max, inactive, valid }: CacheArguments,
  fail: (message: string) => never,
): CertificateCacheOptions | undefined {
  if (off) return undefined;
  return max === undefined ? fail('must have the "max" parameter') : { max, inactive, valid };
}

/** No chain or key is longer. */
const MOST_BYTES = 1024 ** 2;

interface Entry {
  readonly bytes: Buffer;
  readonly mark: string;
  checkedAt: number;
  usedAt: number;
}

/** Files of certificates and keys whose names have variables. Without options nothing is retained. */
export class CertificateCache {
  /** The one used longest ago first. */
  readonly #entries = new Map<string, Entry>();

  constructor(private readonly options: CertificateCacheOptions | undefined) {}

  /** @returns the same object as long as the file is cached and unchanged @throws Error of the system */
  read(path: string, now = Date.now()): Buffer {
    const { options } = this;
    if (options === undefined) return readFile(path).bytes;
    this.#forgetInactive(now, options.inactive);
    const known = this.#entries.get(path);
    this.#entries.delete(path);
    const entry =
      known !== undefined && isValid(known, path, now, options.valid) ? known : { ...readFile(path), checkedAt: now, usedAt: now };
    entry.usedAt = now;
    this.#entries.set(path, entry);
    if (this.#entries.size > options.max) this.#forgetOldest();
    return entry.bytes;
  }

  #forgetInactive(now: number, inactive: number): void {
    for (const [path, { usedAt }] of this.#entries) {
      if (now - usedAt < inactive) return;
      this.#entries.delete(path);
    }
  }

  #forgetOldest(): void {
    for (const path of this.#entries.keys()) {
      this.#entries.delete(path);
      return;
    }
  }
}

/** Looked at again when its time is over. */
function isValid(entry: Entry, path: string, now: number, valid: number): boolean {
  if (now - entry.checkedAt < valid) return true;
  entry.checkedAt = now;
  return markOf(statSync(path)) === entry.mark;
}

const markOf = ({ mtimeMs, ctimeMs, size, ino }: Stats): string => `${mtimeMs} ${ctimeMs} ${size} ${ino}`;

/** A pipe without a writer would keep the thread waiting, and is not opened. */
function readFile(path: string): Pick<Entry, 'bytes' | 'mark'> {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(descriptor);
    if (!stats.isFile() || stats.size > MOST_BYTES) throw new Error('not a file of this kind');
    const bytes = Buffer.alloc(stats.size);
    return { bytes: bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, 0)), mark: markOf(stats) };
  } finally {
    closeSync(descriptor);
  }
}
