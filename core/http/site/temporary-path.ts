import { existsSync, mkdir, mkdirSync, open, rmdirSync, unlink } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../config/errors.js';
import { systemErrorText } from '../../contract/system-error.js';
import { TEMPORARY_NAME_DIGITS } from '../../toolkit/temporary-folder.js';

/** Only the server itself has to see what clients send. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;

/** Where temporary files of one kind are made (client_body_temp_path, proxy_temp_path): a folder, and how many digits name each level of folders in it. */
export class TemporaryPath {
  constructor(
    readonly folder: string,
    readonly levels: readonly number[],
  ) {}

  /** The folder of each level for a file: with the levels 1 and 2, 0000123457 is in `7`, there in `45`. */
  foldersOf(file: string): string[] {
    const folders: string[] = [];
    let { folder } = this;
    let end = file.length;
    for (const digits of this.levels) {
      folder = join(folder, file.slice(end - digits, end));
      end -= digits;
      folders.push(folder);
    }
    return folders;
  }
}

/** Settings of temporary files. */
export interface FilePlan {
  readonly path: TemporaryPath;
  /** True if it has a name in the folder: never, until it is closed, or forever. */
  readonly name: 'none' | 'until-closed' | 'stays';
  /** Most bytes that one call of the system writes. */
  readonly writeSize: number;
  /** That of the line in the log which names the file: `notice` where files are what the configuration wants. */
  readonly level: 'notice' | 'warn';
  /** For the log: `a client request body is buffered to a temporary file`. */
  readonly what: string;
  /** For the log, with a space in front: ` while reading upstream`. May be empty. */
  readonly when: string;
}

/** How much a store holds, and where. Sizes in bytes. */
export interface StorePlan {
  /** Held in memory before the file is used. */
  readonly memory: number;
  /** Longest file; 0: none. */
  readonly maxFileSize: number;
  /** The file holds all of the body, not only what the memory has no room for. */
  readonly fileHoldsAll: boolean;
  /** Bytes that may wait for the disk before the writer has to stop. */
  readonly writeAhead: number;
  readonly file: FilePlan;
}

/** @param failure what nginx would log; empty if the file is open */
export type Opened = (failure: string, fd: number, path: string) => void;

/**
 * Opens a new file for writing and reading. Without a name it is unlinked before it is used, as in nginx: however the server ends, the
 * system frees its content. A kill in between leaves an empty file.
 * @param nextNumber a number for a file's name. Files of another thread, or a killed server, are passed over.
 */
export function openTemporaryFile(plan: FilePlan, nextNumber: () => number, opened: Opened): void {
  const { path } = plan;
  const file = String(nextNumber()).padStart(TEMPORARY_NAME_DIGITS, '0');
  const folders = path.foldersOf(file);
  const name = join(folders.at(-1) ?? path.folder, file);
  const attempt = (missing: readonly string[]): void =>
    open(name, 'wx+', FILE_MODE, (error, fd) => {
      if (error === null && plan.name !== 'none') opened('', fd, name);
      else if (error === null) unlink(name, () => opened('', fd, name));
      else if (error.code === 'EEXIST') openTemporaryFile(plan, nextNumber, opened);
      else if (error.code === 'ENOENT' && missing.length > 0) {
        makeFolders(missing, (failure) => (failure === '' ? attempt([]) : opened(failure, -1, name)));
      } else opened(failureOf('open', name, error), -1, name);
    });
  attempt(folders);
}

/** nginx's log line for a failed call of the system. */
export function failureOf(call: string, path: string, error: unknown): string {
  return `${call}() "${path}" failed (${systemErrorText(error)})`;
}

/** True if the folder is there or can be made: another one is made beside it, and removed. @throws ConfigError */
export function checkTemporaryFolder(folder: string): void {
  if (existsSync(folder)) return;
  const probe = `${folder}.${process.pid}`;
  refusing(folder, () => {
    mkdirSync(probe, FOLDER_MODE);
    rmdirSync(probe);
  });
}

/** Makes the folder itself, when a configuration is applied. @throws ConfigError */
export function makeTemporaryFolder(folder: string): void {
  refusing(folder, () => mkdirSync(folder, FOLDER_MODE));
}

function refusing(folder: string, step: () => void): void {
  try {
    step();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    const hint =
      'temporary files are stored there: set "client_body_temp_path", "proxy_temp_path" or "fastcgi_temp_path" to a directory that can be created';
    throw new ConfigError(failureOf('mkdir', folder, error), undefined, 1, hint);
  }
}

/** Folders of the levels, from the outermost on. The folder around them is not made here: it belongs to the configuration. */
function makeFolders([folder, ...inner]: readonly string[], made: (failure: string) => void): void {
  if (folder === undefined) {
    made('');
    return;
  }
  mkdir(folder, FOLDER_MODE, (error) => {
    if (error !== null && error.code !== 'EEXIST') made(failureOf('mkdir', folder, error));
    else makeFolders(inner, made);
  });
}
