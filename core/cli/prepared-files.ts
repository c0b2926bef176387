import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  realpathSync,
  rmdirSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { asUser } from '../parent/as-user.js';
import type { Owner } from '../parent/protocol.js';
import type { ConfiguredPaths } from './named-files.js';

/** Only the server itself has to see what clients send, and its journal. */
const FOLDER_MODE = 0o700;
const LOG_MODE = 0o644;

/**
 * Makes what the server writes and could not make as its user: log files, folders. A file that cannot be made is left to the server, which
 * reports why. Called as root.
 */
export function prepareFiles({ logs, folders, dataFolder }: ConfiguredPaths, owner: Owner): void {
  for (const path of logs) unlessUserCan(owner, path, openLog, (log) => giveLog(log, owner));
  for (const path of folders) unlessUserCan(owner, path, makeWritable, (folder) => giveFolder(folder, owner));
  unlessUserCan(owner, dataFolder, makeWritable, (folder) => {
    // As long as the folder is root's, no user can put links into it.
    if (existsSync(folder)) giveContent(folder, owner);
    giveFolder(folder, owner);
  });
}

/**
 * Reads what the server may not read as its user. Files below a folder of the user are not read for it: links of the user could lead
 * anywhere. Called as root.
 */
export function readForUser({ read }: ConfiguredPaths, owner: Owner): Map<string, Uint8Array> {
  const contents = new Map<string, Uint8Array>();
  for (const path of read) {
    unlessUserCan(owner, path, readable, (file) => {
      if (isRoots(dirname(realpathSync(file)), owner)) contents.set(file, contentOf(file));
    });
  }
  return contents;
}

function readable(path: string): void {
  closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
}

/** @throws Error for what is not a regular file: it may have no end */
function contentOf(path: string): Uint8Array {
  if (!statSync(path).isFile()) throw new Error('not a regular file');
  return readFileSync(path);
}

/** Lets root do what the user may not. Where the user has a part of the path, links of the user could lead root anywhere. */
function unlessUserCan(owner: Owner, path: string, use: (path: string) => void, give: (path: string) => void): void {
  try {
    asUser(owner, () => use(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code === 'EACCES' || code === 'EPERM') && isRoots(dirname(path), owner)) attempt(() => give(path));
  }
}

function attempt(step: () => void): void {
  try {
    step();
  } catch {
    // The server does the same, and says why it fails.
  }
}

function openLog(path: string): void {
  closeSync(openSync(path, 'a', LOG_MODE));
}

function giveLog(path: string, { uid, gid }: Owner): void {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
  const descriptor = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, LOG_MODE);
  try {
    if (isPlain(fstatSync(descriptor))) fchownSync(descriptor, uid, gid);
  } finally {
    closeSync(descriptor);
  }
}

function makeWritable(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: FOLDER_MODE });
  // access(2) would say what root may.
  rmdirSync(mkdtempSync(join(path, '.srv')));
}

function giveFolder(path: string, { uid, gid }: Owner): void {
  if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path, { mode: FOLDER_MODE });
  if (lstatSync(path).isDirectory()) lchownSync(path, uid, gid);
}

/** Gives what another start has left there as root. */
function giveContent(folder: string, owner: Owner): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = lstatSync(path);
    if (found.isDirectory()) giveContent(path, owner);
    if (found.uid === 0 && (found.isDirectory() || found.isSocket() || isPlain(found))) lchownSync(path, owner.uid, owner.gid);
  }
}

/** A file with one name: another one may be in a folder of another user. */
function isPlain(found: ReturnType<typeof fstatSync>): boolean {
  return found.isFile() && found.nlink === 1;
}

/** True if the user can change none of the names in a path. */
export function isRoots(folder: string, owner: Owner): boolean {
  try {
    return [folder, realpathSync(folder)].every((path) => arePartsOthers(path, owner));
  } catch {
    return false;
  }
}

function arePartsOthers(path: string, owner: Owner): boolean {
  const { uid, gid, mode } = lstatSync(path);
  const isGroups = gid === owner.gid && (mode & constants.S_IWGRP) !== 0;
  if (uid === owner.uid || (isGroups && (mode & STICKY) === 0)) return false;
  return path === '/' || arePartsOthers(dirname(path), owner);
}

const STICKY = 0o1000;
