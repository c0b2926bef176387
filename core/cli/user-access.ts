import { closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ConfigError, ConfigErrors } from '../config/errors.js';
import type { Installation } from '../kernel/installation.js';
import { systemErrorText } from '../contract/system-error.js';
import type { Owner } from '../parent/protocol.js';
import type { ConfiguredPaths } from './named-files.js';
import { isRoots } from './prepared-files.js';
import { asUser } from '../parent/as-user.js';

const HINT = 'the server runs as the "user" of the configuration: let that user read it, and enter the folders on the way';
const LOG_HINT = 'root opens such a file for the server where only root can change the folders on the way; else give it to the user';
const GRANT_HINT = 'root reads such a file for the server where only root can change the folders on the way; else give it to the user';

/** Errors for the files that a server could not read or write as its user. A missing one is reported by its reader. Called as root. */
export function assertUserAccess(named: ConfiguredPaths, modules: readonly string[], installation: Installation, owner: Owner): void {
  const errors = [...installationErrors(installation, owner), ...modules.flatMap((path) => errorAbout(path, owner, HINT))];
  for (const path of named.read) if (!isRoots(dirname(path), owner)) errors.push(...errorAbout(path, owner, GRANT_HINT));
  for (const path of named.logs) if (!isRoots(dirname(path), owner)) errors.push(...errorAbout(path, owner, LOG_HINT, openLog));
  if (errors.length > 0) throw new ConfigErrors(errors);
}

/** Texts for the folders of `root` and `alias` whose files a server could not serve as its user. Called as root. */
export function unreachableFolders({ served }: ConfiguredPaths, owner: Owner): readonly string[] {
  return Array.from(served).flatMap(([path, directive]) => {
    const failure = failureOf(owner, () => enter(path));
    const what = `"${directive}" "${path}" cannot be entered by the user of the server`;
    return failure === undefined ? [] : [`${what} (${systemErrorText(failure)}): requests for its files get 403`];
  });
}

/** Without these not even an error would be reported. */
export function installationErrors({ root, program }: Installation, owner: Owner): readonly ConfigError[] {
  return [join(root, 'package.json'), join(program, 'core'), process.execPath].flatMap((path) => errorAbout(path, owner, HINT));
}

function errorAbout(path: string, owner: Owner, hint: string, use = openFile): readonly ConfigError[] {
  const failure = failureOf(owner, () => use(path));
  if (failure === undefined) return [];
  return [new ConfigError(`open() "${path}" failed for the user of the server (${systemErrorText(failure)})`, undefined, 1, hint)];
}

/** Why the user may not; undefined: the user may, or the system has another reason. */
function failureOf(owner: Owner, step: () => void): unknown {
  try {
    asUser(owner, step);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'EPERM') return error;
  }
  return undefined;
}

function openFile(path: string): void {
  closeSync(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
}

function openLog(path: string): void {
  closeSync(openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NONBLOCK));
}

/** Of an alias that is a file, the file is read. */
function enter(path: string): void {
  if (statSync(path).isDirectory()) statSync(`${path}/.`);
  else openFile(path);
}
