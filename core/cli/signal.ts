import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ConfigErrors } from '../config/errors.js';
import { IdSource } from '../config/tree.js';
import { mainDirectives } from '../kernel/core-directives.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { systemErrorText } from '../contract/system-error.js';
import { readReloadFile } from '../master/reload-file.js';
import type { ServerCommand } from './command.js';
import { signalResult } from './signal-result.js';
import { SIGNALS, type SignalName } from './options.js';
import { readyConfiguration } from './test-configuration.js';

/** Carries out `-s`: signals the server that the pid file of this configuration names. Returns the exit code. */
export async function signalServer(name: SignalName, command: ServerCommand): Promise<number> {
  // A server would reject to reload a wrong configuration, and say so in its log only.
  if (name === 'reload' && !(await readyConfiguration(command))) return 1;
  const file = pidFile(command);
  if (file === undefined) return 1;
  const pid = readPid(file, command);
  if (pid === undefined) return 1;
  const before = readReloadFile(file, pid);
  const send = (): number => signalProcess(SIGNALS[name], pid, file, command);
  if (name !== 'reload' && name !== 'upgrade') return send();
  return send() || signalResult({ name, file, pid, before, isAlive: () => isAlive(pid) }, command);
}

/** Where the server writes its number. For this the configuration need not be right, only readable: also one that was broken since can be stopped. */
function pidFile({ paths, options, console }: ServerCommand): string | undefined {
  const { directives, errors } = readConfiguration({ conf: paths.conf, globals: options.globals }, new IdSource());
  if (errors.length > 0) {
    console.report(new ConfigErrors(errors));
    return undefined;
  }
  const path = directives.find((directive) => directive.name === 'pid')?.args[0]?.text;
  return resolve(paths.prefix, path ?? mainDirectives.pid.default);
}

/** The process that the pid file names; undefined: there is none, which has been said. */
function readPid(file: string, { console }: ServerCommand): number | undefined {
  let text;
  try {
    text = readFileSync(file, 'utf8').trim();
  } catch (error) {
    console.complain('error', `open() "${file}" failed (${systemErrorText(error)})`);
    console.advise('no server seems to run with this configuration; give the same -c and -p as at its start');
    return undefined;
  }
  if (!/^[1-9]\d*$/.test(text)) {
    console.complain('error', `invalid PID number "${text}" in "${file}"`);
    console.advise('remove the file if no server runs');
    return undefined;
  }
  return Number(text);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function signalProcess(signal: NodeJS.Signals, pid: number, file: string, { console }: ServerCommand): number {
  try {
    process.kill(pid, signal);
    return 0;
  } catch (error) {
    console.complain('alert', `kill(${pid}, ${signal}) failed (${systemErrorText(error)})`);
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') console.advise(`the server that wrote "${file}" does not run any more`);
    return 1;
  }
}
