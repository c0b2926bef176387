/** Opens files without following symbolic links (disable_symlinks): part by part, so that a folder that is replaced meanwhile changes nothing. */
import { closeSync, constants, fstatSync, lstatSync, openSync } from 'node:fs';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import { bytesOf } from './file-errors.js';

/** `disable_symlinks`. */
export interface SymlinkRule {
  /** Links are followed if their owner is that of what they point to. */
  readonly ifOwner: boolean;
  /** The beginning of the path that is not checked; undefined: all of it is. */
  readonly from: Template | undefined;
}

/** Linux: a descriptor that is only a place in the tree, for which no permission to read is needed. Node has no name for it. */
const O_PATH = 0o10000000;
/** Links that are not followed, with the number of each error. */
const REFUSALS = { ELOOP: -40, ENOTDIR: -20 } as const;
const FOLDER = O_PATH | constants.O_DIRECTORY;

/** The system's table of open files, by which a file is opened in a folder that is open (openat). */
export const DESCRIPTORS = '/proc/self/fd';

/** The part of a path that the rule leaves alone, without a slash at the end. */
export function uncheckedPart({ from }: SymlinkRule, path: string, request: HttpRequest): string {
  const start = from?.of(request).replace(/\/+$/, '') ?? '';
  return path.startsWith(`${start}/`) ? start : '';
}

/**
 * @returns a descriptor.
 * @throws an error of the system: for a link that is not followed ELOOP, or ENOTDIR where it stands for a folder (as open() says it to nginx)
 */
export function openWithoutLinks(path: string, unchecked: string, rule: SymlinkRule, flags: number): number {
  const names = path
    .slice(unchecked.length)
    .split('/')
    .filter((name) => name !== '');
  const last = names.pop() ?? '.';
  let folder = openSync(bytesOf(`${unchecked}/`), FOLDER);
  try {
    for (const name of names) {
      const next = openIn(folder, name, rule, FOLDER, 'ENOTDIR');
      closeSync(folder);
      folder = next;
    }
    return openIn(folder, last, rule, flags, 'ELOOP');
  } finally {
    closeSync(folder);
  }
}

/** For what may be no file at all: its status without the permission to read it. */
export const STATUS_ONLY = O_PATH;

function openIn(folder: number, name: string, { ifOwner }: SymlinkRule, flags: number, refusal: keyof typeof REFUSALS): number {
  const path = bytesOf(`${DESCRIPTORS}/${folder}/${name}`);
  const link = lstatSync(path);
  if (!link.isSymbolicLink()) return openSync(path, flags | constants.O_NOFOLLOW);
  if (!ifOwner) throw refused(name, refusal);
  const descriptor = openSync(path, flags);
  if (fstatSync(descriptor).uid === link.uid) return descriptor;
  closeSync(descriptor);
  throw refused(name, 'ELOOP');
}

function refused(name: string, code: keyof typeof REFUSALS): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: "${name}" is a symbolic link`), { code, errno: REFUSALS[code] });
}
