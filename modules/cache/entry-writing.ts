/** Writing files of a cache. */
import { copyFile, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Arrival } from './arrivals.js';
import { encodeHead, StoredFlag, type StoredHead } from './entry-file.js';

/** A response that others read while it is stored. */
export interface LiveEntry {
  readonly arrival: Arrival;
  /** Bytes of the body; -1: not known. */
  readonly length: number;
}

/** @returns the bytes of the file */
export async function writeEntry(
  path: string,
  head: Omit<StoredHead, 'bodyLength'>,
  body: AsyncIterable<Buffer>,
  live: (LiveEntry & { readonly file: string }) | undefined,
): Promise<number> {
  const file = await open(path, 'wx+', 0o600);
  try {
    // The length of the body is known at its end: the room for the head is not.
    const room = encodeHead({ ...head, bodyLength: 0 }).length;
    let at = room;
    if (live !== undefined) {
      await writeAll(file, encodeHead({ ...head, flags: head.flags | StoredFlag.Arriving, bodyLength: live.length }), 0);
      live.arrival.begun(live.file);
    }
    for await (const piece of body) {
      at += await writeAll(file, piece, at);
      live?.arrival.grown();
    }
    await writeAll(file, encodeHead({ ...head, bodyLength: at - room }), 0);
    return at;
  } finally {
    await file.close();
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<number> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  return bytes.length;
}

/** Gives a file its name. From another file system it is copied first: no request finds a part of it. */
export async function moveInto(aside: string, path: string): Promise<void> {
  try {
    await rename(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    const copy = join(dirname(path), basename(aside));
    try {
      await copyFile(aside, copy);
      await rename(copy, path);
    } finally {
      await rm(copy, { force: true });
    }
  }
}
