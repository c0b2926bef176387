import type { MainConf } from '../kernel/core-directives.js';
import type { Log } from '../module/services.js';

/** What the main level says about the process itself. Takes effect at start only, and before the workers: they copy it. */
export function applyProcessSettings(main: MainConf, log: Log): void {
  for (const { name, value } of main.env) if (value !== undefined) process.env[name] = value;
  if (main.working_directory !== undefined) process.chdir(main.working_directory);
  if (main.worker_rlimit_nofile !== undefined) {
    log.write('info', '"worker_rlimit_nofile" has no effect: a Node.js process keeps the limit it was started with (ulimit -n)');
  }
}
