import { lchownSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { MainConf } from '../kernel/core-directives.js';
import type { Log } from '../module/services.js';

type User = NonNullable<MainConf['user']>;

/** What the server goes on writing. */
export interface Owned {
  /** Files and folders with all in them. */
  readonly paths: Iterable<string>;
  /** Folders alone: what is in them may be somebody else's (`client_body_temp_path /tmp`). */
  readonly folders: Iterable<string>;
}

/**
 * Becomes the `user` of the configuration. Called when every listener is open, because only root may open low ports. All threads are one
 * process, so this holds for the main thread as well: what only root may do (another low port, a new file in root's folders) is over then.
 * @param owned handed to the user before
 * @throws Error when there is no such user or group
 */
export function dropPrivileges(user: MainConf['user'], owned: Owned, log: Log): void {
  const { setgid, setuid, setgroups } = process;
  if (user === undefined) {
    if (isRoot()) log.write('warn', 'the server runs with super-user privileges: set the "user" directive');
    return;
  }
  if (!setgid || !setuid || !setgroups) return;
  if (!isRoot()) {
    log.write('warn', 'the "user" directive makes sense only if the main process runs with super-user privileges, ignored');
    return;
  }
  handOver(user, owned);
  const group = groupOf(user);
  setgroups([group]);
  setgid(group);
  setuid(user.name);
}

/**
 * Gives files and folders to the `user` of a server that root starts. For others than root it has no effect.
 * @throws Error when there is no such user or group
 */
export function handOver(user: User, { paths, folders }: Owned): void {
  if (!isRoot()) return;
  const owner = numbersOf(user.name, groupOf(user));
  for (const path of paths) give(path, owner);
  for (const folder of folders) lchownSync(folder, owner.uid, owner.gid);
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** As nginx has it: a group of the user's name, if none is given. */
function groupOf({ name, group }: User): string {
  return group ?? name;
}

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The numbers behind the names. Node.js looks names up only where it takes on an identity, so both are taken on for a moment. */
function numbersOf(user: string, group: string): Owner {
  const { setegid, seteuid, getegid, geteuid } = process;
  if (!setegid || !seteuid || !getegid || !geteuid) throw new Error('this system has no users');
  try {
    setegid(group);
  } catch {
    throw new Error(`getgrnam("${group}") failed: "user" without a group uses the group with the name of the user`);
  }
  const gid = getegid();
  setegid(0);
  seteuid(user);
  const uid = geteuid();
  seteuid(0);
  return { uid, gid };
}

function give(path: string, owner: Owner): void {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (!stat) return;
  if (stat.isDirectory()) for (const name of readdirSync(path)) give(join(path, name), owner);
  // Devices such as /dev/null belong to everybody.
  if (stat.isDirectory() || stat.isFile()) lchownSync(path, owner.uid, owner.gid);
}
