import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Command } from './command.js';

/** What the background process tells the one that waits for it. */
type Report = { readonly say: string } | { readonly ready: true };

/**
 * Starts the same command in the background and waits until it serves or has failed. What it says meanwhile is said here.
 * @param mark name of the environment variable that tells the process that it is the one in the background
 * @returns the exit code
 */
export function startDaemon({ console }: Command, mark: string): Promise<number> {
  const script = process.argv[1] ?? '';
  // Its standard error stream is the error log, as nginx has it: what Node.js itself has to say when it dies ends up there.
  const errors = console.errorLog === 'stderr' ? undefined : openSync(console.errorLog, 'a');
  const child = spawn(process.execPath, [...process.execArgv, script, ...process.argv.slice(2)], {
    detached: true,
    stdio: ['ignore', 'ignore', errors ?? 'inherit', 'ipc'],
    env: { ...process.env, [mark]: '1' },
  });
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
