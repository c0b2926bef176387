import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DAEMON_MARK } from '../parent/marks.js';
import type { ParentStart } from '../parent/protocol.js';
import type { Console } from './console.js';

const PARENT_FILE = fileURLToPath(new URL('../parent/main.js', import.meta.url));

/** Messages of the background process to the one that waits for it. */
type Report = { readonly say: string } | { readonly ready: true };

/**
 * Starts the same command in the background and waits until it serves or has failed. Its output meanwhile is printed here.
 * @param parent runs it there, if it is to have one
 * @returns the exit code
 */
export function startDaemon({ errorLog }: Pick<Console, 'errorLog'>, parent?: ParentStart): Promise<number> {
  // Its standard error stream is the error log, as nginx has it: what Node.js itself has to say when it dies ends up there.
  const errors = errorLog === 'stderr' ? undefined : openSync(errorLog, 'a');
  const command = parent === undefined ? [process.argv[1] ?? '', ...process.argv.slice(2)] : [PARENT_FILE];
  const child = spawn(process.execPath, [...process.execArgv, ...command], {
    detached: true,
    stdio: ['ignore', 'ignore', errors ?? 'inherit', 'ipc'],
    serialization: 'advanced',
    env: parent === undefined ? { ...process.env, [DAEMON_MARK]: '1' } : process.env,
  });
  if (parent !== undefined) child.send(parent);
  if (errors !== undefined) closeSync(errors);
  return new Promise((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
    child.on('message', (report: Report) => {
      if ('say' in report) {
        process.stderr.write(report.say);
        return;
      }
      child.disconnect();
      child.unref();
      resolve(0);
    });
  });
}
