import type { ParsedText } from '../config/parser.js';
import type { Owner } from '../parent/protocol.js';

/**
 * The user that the server of a configuration has to run as, found before anything is checked.
 * @returns undefined: that of this process. The same if the user or the group does not exist: the configuration is rejected then.
 * @throws Error when the user has no group of the same name, and none is given
 */
export function userOf({ directives }: ParsedText): Owner | undefined {
  const [name, group] = directives.find((directive) => directive.name === 'user')?.args ?? [];
  const { setegid, seteuid } = process;
  if (name === undefined || !isRoot() || !setegid || !seteuid) return undefined;
  const uid = lookedUp(() => seteuid(name.text), process.geteuid);
  if (uid === undefined || uid === 0) return undefined;
  const gid = lookedUp(() => setegid(group?.text ?? name.text), process.getegid);
  if (gid !== undefined) return { uid, gid };
  if (group !== undefined) return undefined;
  throw new Error(`getgrnam("${name.text}") failed: "user" without a group uses the group with the name of the user`);
}

/** That of this process. */
export function ownUser(): Owner | undefined {
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  return uid === undefined || gid === undefined ? undefined : { uid, gid };
}

/** Files have to be made for it, and read. */
export function isOtherUser({ uid }: Owner): boolean {
  return uid !== process.getuid?.();
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** The number after a name. Node.js looks names up only where it takes on an identity, so this one is taken on for a moment. */
function lookedUp(takeOn: () => void, number: (() => number) | undefined): number | undefined {
  try {
    takeOn();
    return number?.();
  } catch {
    return undefined;
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
