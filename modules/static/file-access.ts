import { constants as system } from 'node:os';
import { closeSync, constants, fstatSync } from 'node:fs';
import type { HttpRequest } from '../../core/contract/http.js';
import type { FileStatus, SystemFiles } from '../../core/contract/system-files.js';
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
 * in nginx: a look at what the system has in memory costs far less than a way to another thread and back. Where it has not, and can tell, the result
 * is undefined; after {@link FileAccess.prepare} the call is made again with `waits`.
 */
export class FileAccess {
  constructor(
    private readonly files: SystemFiles,
    private readonly cache: OpenFileCache | undefined,
    private readonly rules: CacheRules,
    private readonly symlinks: SymlinkRule | undefined,
    /** Each call waits: for explanations. */
    private readonly alwaysWaits = false,
  ) {}

  /** Opens a file. Another kind than a regular file is not open afterwards, and has its status alone. @throws an error of the system */
  open(path: string, request: HttpRequest, waits: boolean): OpenedFile | undefined {
    const { files, cache } = this;
    const mayWait = waits || this.alwaysWaits;
    if (cache === undefined && this.symlinks === undefined) {
      assertWithinRoot(path);
      const descriptor = files.open(path, mayWait);
      return descriptor === undefined ? undefined : openedFile(files, path, descriptor);
    }
    const place = this.#place(path, request);
    return cache === undefined ? openPlace(files, place, mayWait) : cache.open(files, place, request.startTime, this.rules, mayWait);
  }

  /** @throws an error of the system */
  status(path: string, request: HttpRequest, waits: boolean): FileStatus | undefined {
    const { files, cache } = this;
    const place = this.#place(path, request);
    const mayWait = waits || this.alwaysWaits;
    return cache === undefined ? statusOf(files, place, mayWait) : cache.status(files, place, request.startTime, this.rules, mayWait);
  }

  /** As {@link status}. False: there is no such file. */
  find(path: string, request: HttpRequest, waits: boolean): FileStatus | false | undefined {
    assertWithinRoot(path);
    if (this.cache !== undefined || this.symlinks !== undefined) return this.status(path, request, waits);
    return this.files.find(path, waits || this.alwaysWaits);
  }

  /** See {@link SystemFiles.prepare}. */
  prepare(path: string): Promise<void> {
    return this.files.prepare(path);
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
export function openPlace(files: SystemFiles, { path, unchecked, symlinks }: Place, waits: boolean): OpenedFile | undefined {
  if (symlinks !== undefined && !waits && isUnknown(files, path)) return undefined;
  const descriptor = symlinks === undefined ? files.open(path, waits) : openWithoutLinks(path, unchecked, symlinks, FLAGS);
  return descriptor === undefined ? undefined : openedFile(files, path, descriptor);
}

/** @throws an error of the system */
export function statusOf(files: SystemFiles, { path, unchecked, symlinks }: Place, waits: boolean): FileStatus | undefined {
  if (symlinks === undefined) return files.status(path, waits);
  if (!waits && isUnknown(files, path)) return undefined;
  const descriptor = openWithoutLinks(path, unchecked, symlinks, STATUS_ONLY);
  try {
    return fstatSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The system would have to ask a disk for the parts of a path, which are followed one by one. */
function isUnknown(files: SystemFiles, path: string): boolean {
  try {
    return !files.alwaysWaits && files.find(path) === undefined;
  } catch {
    // The one that follows them finds out why.
    return false;
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
