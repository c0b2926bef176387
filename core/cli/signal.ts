import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigErrors } from '../config/errors.js';
import { IdSource } from '../config/tree.js';
import { mainDirectives } from '../kernel/core-directives.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { systemErrorText } from '../module/system-error.js';
import type { Command } from './command.js';
import { SIGNALS, type SignalName } from './options.js';
import { readyConfiguration } from './test-configuration.js';

/** Carries out `-s`: signals the server that the pid file of this configuration names. Returns the exit code. */
export async function signalServer(name: SignalName, command: Command): Promise<number> {
  // A server would refuse to reload a wrong configuration, and say so in its log only.
  if (name === 'reload' && !(await readyConfiguration(command))) return 1;
  const file = pidFile(command);
  return file === undefined ? 1 : signalProcess(SIGNALS[name], file, command);
}

/** Where the server writes its number. For this the configuration need not be right, only readable: also one that was broken since can be stopped. */
function pidFile({ paths, options, console }: Command): string | undefined {
  const { directives, errors } = readConfiguration({ conf: paths.conf, globals: options.globals }, new IdSource());
  if (errors.length > 0) {
    console.report(new ConfigErrors(errors));
    return undefined;
  }
  const path = directives.find((directive) => directive.name === 'pid')?.args[0]?.text;
  return resolve(paths.prefix, path ?? mainDirectives.pid.default);
}

function signalProcess(signal: NodeJS.Signals, file: string, { console }: Command): number {
  let text;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    console.complain('error', `open() "${file}" failed (${systemErrorText(error)})`);
    console.advise('no server seems to run with this configuration; give the same -c and -p as at its start');
    return 1;
  }
  if (!/^[1-9]\d*$/.test(text)) {
    console.complain('error', `invalid PID number "${text}" in "${file}"`);
    console.advise('remove the file if no server runs');
    return 1;
  }
  try {
    process.kill(Number(text), signal);
    return 0;
  } catch (error) {
    console.complain('alert', `kill(${text}, ${signal}) failed (${systemErrorText(error)})`);
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') console.advise(`the server that wrote "${file}" does not run any more`);
    return 1;
  }
}
