import type { Owner } from './protocol.js';

/** Does something with the rights of a user. Called as root. */
export function asUser<T>({ uid, gid }: Owner, step: () => T): T {
  const { setegid, seteuid, setgroups, getgroups } = process;
  if (!setegid || !seteuid || !setgroups || !getgroups) throw new Error('this system has no users');
  const groups = getgroups();
  setgroups([gid]);
  setegid(gid);
  seteuid(uid);
  try {
    return step();
  } finally {
    seteuid(0);
    setegid(0);
    setgroups(groups);
  }
}
