import type { MainConf } from '../kernel/core-directives.js';
import type { Log } from '../module/services.js';

/**
 * Becomes the `user` of the configuration. Called when every listener is open, because only root may open low ports. All threads are one
 * process, so this holds for the main thread as well: what only root may do (another low port, a log file in root's folder) is over.
 * @throws Error when there is no such user or group.
 */
export function dropPrivileges(user: MainConf['user'], log: Log): void {
  if (user === undefined) return;
  const { setgid, setuid, setgroups, getuid } = process;
  if (!setgid || !setuid || !setgroups || !getuid) return;
  if (getuid.call(process) !== 0) {
    log.write('warn', 'the "user" directive makes sense only if the main process runs with super-user privileges, ignored');
    return;
  }
  // As nginx has it: a group of the user's name, if none is given.
  const group = user.group ?? user.name;
  setgroups.call(process, [group]);
  setgid.call(process, group);
  setuid.call(process, user.name);
}
