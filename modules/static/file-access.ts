import { constants as system } from 'node:os';
import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { HttpRequest } from '../../core/contract/http.js';
import type { FileStatus, SystemFiles } from '../../core/contract/system-files.js';
import { bytesOf } from './file-errors.js';
import type { CacheRules, OpenFileCache } from './open-file-cache.js';
import { OpenedFile } from './opened-file.js';
import { openWithoutLinks, STATUS_ONLY, uncheckedPart, type SymlinkRule } from './symlinks.js';

/** A path that goes up: rewritten URIs and values of variables may, and no request is to leave the folder that way. */
const GOES_UP = /\/\.\.(?:\/|$)/;

/** @throws an error as the system's for a file that may not be read */
export function assertWithinRoot(path: string): void {
  if (!path.includes('/..') || !GOES_UP.test(path)) return;
  throw Object.assign(new Error('the path leaves its folder'), { code: 'EACCES', errno: -system.errno.EACCES });
}

/** Nothing but opening waits for the other end of a pipe, and a pipe is not a file that is served. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/**
 * How the files of one scope are opened and looked at: through its cache, and by its rules for symbolic links. The calls are synchronous, as
 * in nginx: a look at what the system has in memory costs far less than a way to another thread and back. Only what the system does not have in
 * memory is opened in another thread, where it can tell.
 */
export class FileAccess {
  constructor(
    private readonly files: SystemFiles,
    private readonly cache: OpenFileCache | undefined,
    private readonly rules: CacheRules,
    private readonly symlinks: SymlinkRule | undefined,
  ) {}

  /** Opens a file. Another kind than a regular file is not open afterwards, and has its status alone. @throws an error of the system */
  open(path: string, request: HttpRequest): OpenedFile {
    const { files, cache } = this;
    const place = this.#place(path, request);
    return cache === undefined ? openPlace(files, place) : cache.open(files, place, request.startTime, this.rules);
  }

  /** As {@link open}. Undefined: it would wait for a disk; {@link openLater} does not. */
  openAtOnce(path: string, request: HttpRequest): OpenedFile | undefined {
    const { files } = this;
    if (this.cache !== undefined || this.symlinks !== undefined) return this.open(path, request);
    assertWithinRoot(path);
    const descriptor = files.open(path);
    return descriptor === undefined ? undefined : openedFile(files, path, descriptor);
  }

  /** @throws (rejects) an error of the system */
  async openLater(path: string): Promise<OpenedFile> {
    return openedFile(this.files, path, await this.files.openLater(path));
  }

  /** @throws an error of the system */
  status(path: string, request: HttpRequest): FileStatus {
    const { files, cache } = this;
    const place = this.#place(path, request);
    return cache === undefined ? statusOf(files, place) : cache.status(files, place, request.startTime, this.rules);
  }

  /** The status of what may not exist: undefined then. @throws other errors of the system */
  find(path: string, request: HttpRequest): FileStatus | undefined {
    assertWithinRoot(path);
    if (this.cache === undefined && this.symlinks === undefined) return this.files.find(path);
    return this.status(path, request);
  }

  #place(path: string, request: HttpRequest): Place {
    const { symlinks } = this;
    assertWithinRoot(path);
    return symlinks === undefined
      ? { path, unchecked: '', symlinks }
      : { path, unchecked: uncheckedPart(symlinks, path, request), symlinks };
  }
}

/** A path and how it is followed. */
export interface Place {
  readonly path: string;
  readonly unchecked: string;
  readonly symlinks: SymlinkRule | undefined;
}

/** @throws an error of the system */
export function openPlace(files: SystemFiles, { path, unchecked, symlinks }: Place): OpenedFile {
  const descriptor =
    symlinks === undefined ? (files.open(path) ?? openSync(bytesOf(path), FLAGS)) : openWithoutLinks(path, unchecked, symlinks, FLAGS);
  return openedFile(files, path, descriptor);
}

/** @throws an error of the system */
export function statusOf(files: SystemFiles, { path, unchecked, symlinks }: Place): FileStatus {
  if (symlinks === undefined) return files.status(path);
  const descriptor = openWithoutLinks(path, unchecked, symlinks, STATUS_ONLY);
  try {
    return fstatSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function openedFile(files: SystemFiles, path: string, descriptor: number): OpenedFile {
  try {
    const status = files.statusOf(descriptor);
    if (status.isFile()) return new OpenedFile(files, path, status, descriptor);
    files.close(descriptor);
    return new OpenedFile(files, path, status, -1);
  } catch (error) {
    files.close(descriptor);
    throw error;
  }
}
