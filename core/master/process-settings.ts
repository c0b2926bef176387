import type { MainConf } from '../kernel/core-directives.js';
import type { Log } from '../contract/log.js';
import { limitOpenFiles } from './open-files.js';

/** Settings of the main level for the process itself. Takes effect at start only, and before the workers: they copy it. */
export function applyProcessSettings(main: MainConf, log: Log): void {
  for (const { name, value } of main.env) if (value !== undefined) process.env[name] = value;
  if (main.working_directory !== undefined) process.chdir(main.working_directory);
  if (main.worker_rlimit_nofile !== undefined) {
    const failure = limitOpenFiles(main.worker_rlimit_nofile);
    const hint = 'start the server as root, or raise the limit before it (ulimit -n, LimitNOFILE= of systemd)';
    if (failure !== undefined) log.write('alert', `setrlimit(RLIMIT_NOFILE, ${main.worker_rlimit_nofile}) failed: ${failure}. ${hint}`);
  }
}

/** A server should have the rights of an ordinary user. @param hasParent it was started as root, and runs as `user` */
export function warnOfUser(user: MainConf['user'], hasParent: boolean, log: Log): void {
  const isRoot = process.getuid?.() === 0;
  if (user === undefined && isRoot) log.write('warn', 'the server runs with super-user privileges: set the "user" directive');
  if (user !== undefined && !isRoot && !hasParent)
    log.write('warn', 'the "user" directive makes sense only if the main process runs with super-user privileges, ignored');
}
