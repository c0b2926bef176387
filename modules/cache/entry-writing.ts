/** Writing files of a cache. */
import { closeSync, fstatSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { copyFile, link, mkdir, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Arrival } from './arrivals.js';
import { beginningOf, type Beginning } from './body-beginning.js';
import type { CacheDisk } from './cache-disk.js';
import { encodeHead, StoredFlag, type StoredHead } from './entry-file.js';

/** A response that others read while it is stored. */
export interface LiveEntry {
  readonly arrival: Arrival;
  /** Bytes of the body; -1: not known. */
  readonly length: number;
}

/** Files of a response that is stored: it is written aside, and renamed when it is whole. */
export interface EntryFiles {
  readonly path: string;
  readonly aside: string;
  /** Name of the file aside for readers that read it while it is written. */
  readonly file: string;
}

/** The say of the index on a file. */
export interface EntryAdmission {
  /** Asked before the file gets its name. */
  isWanted(): boolean;
  /** Asked when it has it. False: it must not have it. */
  add(bytes: number): boolean;
}

type Head = Omit<StoredHead, 'bodyLength'>;

/** Bytes of the longest body that is written without a switch of threads. */
const SHORT = 16_384;
/** Milliseconds that a short body has to become whole before others read what there is of it. */
const READERS_WAIT = 5;
/** Bytes of short responses of one worker that wait for other threads at most. More are not stored. */
const MOST_WAITING = 4_194_304;

/** Stores responses. A worker writes short ones itself, as long as the disk responds in time; other threads write everything else. */
export class EntryWriter {
  /** Bytes. */
  #waiting = 0;
  /** More would have to wait, and the log has it. */
  #isLate = false;

  /** @param late logs that responses are not stored */
  constructor(
    private readonly disk: CacheDisk,
    private readonly late: (text: string) => void,
  ) {}

  /** @returns false: it is not wanted, or too many wait for the disk @throws (rejects) Error of the system */
  async store(
    place: EntryFiles,
    head: Head,
    body: AsyncIterable<Buffer>,
    live: LiveEntry | undefined,
    admission: EntryAdmission,
  ): Promise<boolean> {
    const begun = await beginningOf(body, SHORT, live && READERS_WAIT);
    if (!begun.isWhole)
      return this.#storeElsewhere(place, (file) => writeLong(file, place, head, begun, live), admission).finally(begun.end);
    if (!admission.isWanted()) return false;
    const bytes = Buffer.concat([encodeHead({ ...head, bodyLength: begun.length }), ...begun.pieces]);
    const inode = this.disk.write(storeNow, place, bytes);
    if (inode === undefined) return this.#storeLater(place, bytes, admission);
    this.disk.responded();
    if (admission.add(bytes.length)) return true;
    await takeBack(place, inode);
    return false;
  }

  async #storeLater(place: EntryFiles, bytes: Buffer, admission: EntryAdmission): Promise<boolean> {
    if (this.#waiting + bytes.length > MOST_WAITING) {
      if (!this.#isLate) this.late('4 MB of responses wait for the disk, which does not keep up: further ones are not stored meanwhile');
      this.#isLate = true;
      return false;
    }
    this.#waiting += bytes.length;
    try {
      return await this.#storeElsewhere(place, (file) => writeAll(file, bytes, 0), admission);
    } finally {
      this.#waiting -= bytes.length;
      if (this.#waiting <= MOST_WAITING / 2) this.#isLate = false;
    }
  }

  async #storeElsewhere(place: EntryFiles, write: (file: FileHandle) => Promise<number>, admission: EntryAdmission): Promise<boolean> {
    const file = await openAside(place.aside);
    let isAside = true;
    try {
      let bytes: number;
      let inode: number;
      try {
        bytes = await write(file);
        inode = (await file.stat()).ino;
      } finally {
        await file.close();
      }
      if (!admission.isWanted()) return false;
      const copied = await moveInto(place);
      isAside = copied !== undefined;
      this.disk.responded();
      if (admission.add(bytes)) return true;
      await takeBack(place, copied ?? inode);
      return false;
    } finally {
      if (isAside) await rm(place.aside, { force: true });
    }
  }
}

/** @returns the inode; undefined if a folder is missing, or is on another file system: nothing is left @throws Error of the system */
function storeNow({ aside, path }: EntryFiles, bytes: Buffer): number | undefined {
  try {
    const file = openSync(aside, 'wx', 0o600);
    let inode: number;
    try {
      writeFileSync(file, bytes);
      inode = fstatSync(file).ino;
    } finally {
      closeSync(file);
    }
    renameSync(aside, path);
    return inode;
  } catch (error) {
    rmSync(aside, { force: true });
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'EXDEV') return undefined;
    throw error;
  }
}

/** Removes a file that must not have its name. Another one may have taken the name since: it keeps it. */
async function takeBack({ aside, path }: EntryFiles, inode: number): Promise<void> {
  try {
    if ((await stat(path)).ino !== inode) return;
    await rename(path, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  try {
    if ((await stat(aside)).ino !== inode) await link(aside, path);
  } catch (error) {
    // A third one has the name by now.
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Makes the folder if it is missing, as it is for the first file. */
async function openAside(aside: string): Promise<FileHandle> {
  try {
    return await open(aside, 'wx+', 0o600);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    await makeFolder(dirname(aside));
    return open(aside, 'wx+', 0o600);
  }
}

/** @returns the bytes of the file */
async function writeLong(file: FileHandle, place: EntryFiles, head: Head, begun: Beginning, live: LiveEntry | undefined): Promise<number> {
  // The length of the body is known at its end: the room for the head is not.
  const first = encodeHead({ ...head, flags: head.flags | StoredFlag.Arriving, bodyLength: live?.length ?? -1 });
  let at = await writeAll(file, Buffer.concat([first, ...begun.pieces]), 0);
  live?.arrival.begun(place.file);
  for (let piece = await begun.next(); piece !== undefined; piece = await begun.next()) {
    at += await writeAll(file, piece, at);
    live?.arrival.grown();
  }
  await writeAll(file, encodeHead({ ...head, bodyLength: at - first.length }), 0);
  return at;
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<number> {
  for (let at = 0; at < bytes.length;) at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  return bytes.length;
}

/**
 * Gives a file its name. From another file system it is copied first: no request finds a part of it.
 * @returns the inode of the copy, if the file aside is still there
 */
async function moveInto({ aside, path }: Omit<EntryFiles, 'file'>, isFolderMade = false): Promise<number | undefined> {
  try {
    await rename(aside, path);
    return undefined;
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && !isFolderMade) {
      await makeFolder(dirname(path));
      return moveInto({ aside, path }, true);
    }
    if (codeOf(error) !== 'EXDEV') throw error;
    const copy = join(dirname(path), basename(aside));
    try {
      await copyFile(aside, copy);
      const { ino } = await stat(copy);
      await rename(copy, path);
      return ino;
    } finally {
      await rm(copy, { force: true });
    }
  }
}

async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
