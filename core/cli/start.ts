import { availableParallelism } from 'node:os';
import type { Parsed } from '../config/parser.js';
import { IdSource } from '../config/tree.js';
import { exitProcess } from '../kernel/process-exit.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { releaseAfterStart } from '../kernel/release-memory.js';
import { Master } from '../master/master.js';
import { obeySignals } from '../master/signals.js';
import { MIN_WORKERS } from '../upstream/layout.js';
import type { Log } from '../module/services.js';
import type { Command } from './command.js';
import { leaveLogsToServer } from './leave-logs.js';
import { announce, helpersStarted } from './announce.js';

/** Marks the background process of `daemon on`. */
const DAEMON = 'SRV_DAEMON';
/** Workers that serve while their replacements start. */
const REPLACEMENTS = 2;

/** Starts the server: here, or in a background process, whose exit code it returns if it fails, or 0 when it serves. */
export async function start(command: Command): Promise<number | undefined> {
  const isDaemon = process.env[DAEMON] !== undefined;
  delete process.env[DAEMON];
  const ids = new IdSource();
  const parsed = readConfiguration({ conf: command.paths.conf, globals: command.options.globals }, ids);
  leaveLogsToServer(command.console.files, parsed);
  if (isDaemon || !wantsDaemon(parsed)) {
    await serve(command, parsed, ids, isDaemon);
    return undefined;
  }
  const { startDaemon } = await import('./daemon.js');
  return startDaemon(command, DAEMON);
}

/** What `daemon` says. A configuration that cannot be read is refused in the foreground. */
function wantsDaemon(parsed: Parsed): boolean {
  return parsed.errors.length === 0 && wordOf(parsed, 'daemon')?.toLowerCase() !== 'off';
}

/** Workers that shared state gets places for: those of the configuration, as many as a reload may ask for, and those that replace others. */
function workerPlaces(parsed: Parsed): number {
  const workers = Math.max(Number(wordOf(parsed, 'worker_processes')) || 0, availableParallelism());
  return Math.max(workers + REPLACEMENTS, MIN_WORKERS);
}

/** The first argument of a directive of the main level, before anything is checked. */
function wordOf({ directives }: Parsed, name: string): string | undefined {
  return directives.find((directive) => directive.name === name)?.args[0]?.text;
}

async function serve({ paths, options, installation, console }: Command, parsed: Parsed, ids: IdSource, daemon: boolean): Promise<void> {
  process.title = `srv: master process ${paths.conf}`;
  const { log, files } = console;
  const master = new Master({
    installation,
    prefix: paths.prefix,
    source: { conf: paths.conf, globals: options.globals },
    ids,
    workers: workerPlaces(parsed),
    errorLog: console.errorLog,
    log,
    files,
    report: (failure) => console.report(failure),
  });
  const exit = (code: number): never => {
    files.flush();
    return exitProcess(code);
  };
  obeySignals(master, { log, daemon, ended: () => exit(0) });
  try {
    await master.start(parsed);
  } catch (error) {
    // A signal came first: whoever takes care of it ends the process.
    if (master.ending) return;
    console.report(error);
    await master.stop();
    exit(1);
  }
  surviveErrors(log);
  // What the start has held on to is gone by now; helpers are still starting.
  releaseAfterStart();
  // A script that starts the server in the background may call the API in its next line.
  const helpers = await helpersStarted(master, console);
  if (daemon) process.send?.({ ready: true }, () => process.disconnect?.());
  console.detach();
  if (!daemon && !options.quiet) announce(master, helpers);
}

/** From here on an error that nobody expected is no reason to end: the workers serve without the main thread. */
function surviveErrors(log: Log): void {
  process.on('uncaughtException', (error) => log.write('alert', `main thread: uncaught exception: ${error.stack ?? error.message}`));
  process.on('unhandledRejection', (reason) => {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    log.write('alert', `main thread: uncaught rejection: ${text}`);
  });
}
