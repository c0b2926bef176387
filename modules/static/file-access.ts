import { constants as system } from 'node:os';
import { closeSync, constants, fstatSync, openSync, statSync, type Stats } from 'node:fs';
import type { HttpRequest } from '../../core/contract/http.js';
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
 * in nginx: a look at what the system has in memory costs far less than a way to another thread and back.
 */
export class FileAccess {
  constructor(
    private readonly cache: OpenFileCache | undefined,
    private readonly rules: CacheRules,
    private readonly symlinks: SymlinkRule | undefined,
  ) {}

  /** Opens a file. Another kind than a regular file is not open afterwards, and has its status alone. @throws an error of the system */
  open(path: string, request: HttpRequest): OpenedFile {
    const place = this.#place(path, request);
    return this.cache === undefined ? openPlace(place) : this.cache.open(place, request.startTime, this.rules);
  }

  /** @throws an error of the system */
  status(path: string, request: HttpRequest): Stats {
    const place = this.#place(path, request);
    return this.cache === undefined ? statusOf(place) : this.cache.status(place, request.startTime, this.rules);
  }

  /** The status of what may not exist: undefined then. @throws other errors of the system */
  find(path: string, request: HttpRequest): Stats | undefined {
    assertWithinRoot(path);
    if (this.cache === undefined && this.symlinks === undefined) return statSync(bytesOf(path), { throwIfNoEntry: false });
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
export function openPlace(place: Place): OpenedFile {
  const { path, unchecked, symlinks } = place;
  const descriptor = symlinks === undefined ? openSync(bytesOf(path), FLAGS) : openWithoutLinks(path, unchecked, symlinks, FLAGS);
  try {
    const stats = fstatSync(descriptor);
    if (stats.isFile()) return new OpenedFile(path, stats, descriptor);
    closeSync(descriptor);
    return new OpenedFile(path, stats, -1);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
}

/** @throws an error of the system */
export function statusOf({ path, unchecked, symlinks }: Place): Stats {
  if (symlinks === undefined) return statSync(bytesOf(path));
  const descriptor = openWithoutLinks(path, unchecked, symlinks, STATUS_ONLY);
  try {
    return fstatSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
