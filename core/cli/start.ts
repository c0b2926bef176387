import { closeSync, openSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import type { Predecessor } from '../upgrade/predecessor.js';
import { UPGRADE_SOCKET } from '../upgrade/upgrade-mark.js';
import { commandLine, startProgram, type CommandLine } from '../upgrade/program.js';
import type { ParsedText } from '../config/parser.js';
import { IdSource } from '../config/tree.js';
import { exitProcess } from '../kernel/process-exit.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { releaseAfterStart } from '../kernel/release-memory.js';
import type { MasterOptions } from '../master/master-options.js';
import { Master } from '../master/master.js';
import { DAEMON_MARK, SUCCESSOR_MARK } from '../parent/marks.js';
import { ServiceManager } from '../master/service-manager.js';
import { obeySignals, SERVES } from '../master/signals.js';
import { MIN_WORKERS } from '../upstream/layout.js';
import type { Log } from '../contract/log.js';
import { ParentLink } from '../parent/parent-link.js';
import type { ServerCommand } from './command.js';
import { leaveLogsToServer } from './leave-logs.js';
import { announce, helpersStarted } from './announce.js';
import { wantsDaemon, wordOf } from './start-words.js';
import { userOf } from './user.js';

/** Workers that serve while their replacements start. */
const REPLACEMENTS = 2;
/** The place of the program that this one replaces. */
const PREDECESSOR = 1;

/** Starts the server: here, or in a background process, whose exit code it returns if it fails, or 0 when it serves. */
export async function start(command: ServerCommand): Promise<number | undefined> {
  let predecessor;
  try {
    predecessor = await findPredecessor(command);
  } catch (error) {
    command.console.report(error);
    return 1;
  }
  const isDaemon = process.env[DAEMON_MARK] !== undefined;
  delete process.env[DAEMON_MARK];
  const ids = new IdSource();
  const parent = ParentLink.connect();
  await parent?.prepare();
  const { conf } = command.paths;
  const parsed = readConfiguration({ conf, globals: command.options.globals, granted: parent?.granted }, ids);
  leaveLogsToServer(command.console.files, parsed);
  if (parent === undefined && isWithoutUser(parsed)) {
    command.console.complain('emerg', 'the configuration names no "user" any more: stop the server and start it');
    return 1;
  }
  if (!isDaemon && parent === undefined && predecessor === undefined) {
    // Where root's start has found a user, it has not come as far as this.
    const failure = userFailure(parsed);
    if (failure !== undefined) {
      command.console.report(failure);
      return 1;
    }
    if (wantsDaemon(parsed)) return (await import('./daemon.js')).startDaemon(command.console);
  }
  await serve(command, parsed, { ids, daemon: isDaemon, parent, predecessor });
  return undefined;
}

/** A parent of root has started this process to be its successor, and root's start has found no user. Errors are reported later. */
function isWithoutUser({ errors }: ParsedText): boolean {
  return process.env[SUCCESSOR_MARK] !== undefined && errors.length === 0;
}

/** Why there is no such user. */
function userFailure(parsed: ParsedText): unknown {
  try {
    userOf(parsed);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** The server that this command is to replace. Errors from here on are reported there. @throws Error where the two cannot work together */
async function findPredecessor({ console, installation }: ServerCommand): Promise<Predecessor | undefined> {
  const path = process.env[UPGRADE_SOCKET];
  if (path === undefined) return undefined;
  delete process.env[UPGRADE_SOCKET];
  const { Predecessor } = await import('../upgrade/predecessor.js');
  const predecessor = await Predecessor.connect(path, installation.version);
  console.speakTo((text) => predecessor.say(text));
  return predecessor;
}

/** Starts the command that has started this process once more. */
function programStarter(line: CommandLine, { errorLog }: ServerCommand['console'], isDaemon: boolean): MasterOptions['startProgram'] {
  return (environment, descriptors) => {
    if (!isDaemon) return startProgram(line, environment, descriptors, undefined);
    const errors = errorLog === 'stderr' ? 'inherit' : openSync(errorLog, 'a');
    const program = startProgram(line, { ...environment, [DAEMON_MARK]: '1' }, descriptors, { errors });
    if (errors !== 'inherit') closeSync(errors);
    return program;
  };
}

/** Places that shared state has: for the workers of the configuration, for as many as a reload may ask for, for replacements. */
function workerPlaces(parsed: ParsedText): number {
  const workers = Math.max(Number(wordOf(parsed, 'worker_processes')) || 0, availableParallelism());
  return Math.max(workers + REPLACEMENTS + PREDECESSOR, MIN_WORKERS);
}

interface Around {
  readonly ids: IdSource;
  /** It runs in the background. */
  readonly daemon: boolean;
  readonly parent: ParentLink | undefined;
  readonly predecessor: Predecessor | undefined;
}

async function serve(command: ServerCommand, parsed: ParsedText, { ids, daemon, parent, predecessor }: Around): Promise<void> {
  const { paths, options, installation, console } = command;
  const line = commandLine();
  process.title = `srv: master process ${paths.conf}`;
  const { log, files } = console;
  const manager = ServiceManager.find(log);
  const master = new Master({
    installation,
    prefix: paths.prefix,
    source: { conf: paths.conf, globals: options.globals, granted: parent?.granted },
    ids,
    places: workerPlaces(parsed),
    errorLog: console.errorLog,
    log,
    files,
    report: (failure) => console.report(failure),
    parent,
    predecessor,
    takesOver: async () => manager?.mainProcess(parent === undefined ? process.pid : process.ppid),
    startProgram: programStarter(line, console, daemon),
  });
  const exit = (code: number): never => {
    files.flush();
    // It waits for all threads.
    if (master.hasStuckThreads) process.kill(process.pid, 'SIGKILL');
    return exitProcess(code);
  };
  if (parent !== undefined) parent.onLost = () => void master.stop().then(() => exit(1));
  obeySignals(master, { log, daemon, ended: () => exit(0), manager });
  try {
    await master.start(parsed);
  } catch (error) {
    // A signal came first: its handler ends the process.
    if (master.ending) return;
    console.report(error);
    await master.stop();
    exit(1);
  }
  surviveErrors(log);
  if (parent?.crash !== undefined) {
    const [signal, pid] = parent.crash.split(' ');
    log.write('alert', `server process ${pid} exited on ${signal}: another one was started in its place`);
  }
  // The memory of the start is free by now; helpers are still starting.
  releaseAfterStart();
  // A script that starts the server in the background may call the API in its next line.
  const helpers = await helpersStarted(master, console);
  manager?.ready(SERVES);
  if (daemon) process.send?.({ ready: true }, () => parent ?? process.disconnect?.());
  console.detach();
  if (!daemon && !options.quiet) announce(master, helpers);
}

/** From here on an unexpected error does not end the process: the workers serve without the main thread. */
function surviveErrors(log: Log): void {
  process.on('uncaughtException', (error) => log.write('alert', `main thread: uncaught exception: ${error.stack ?? error.message}`));
  process.on('unhandledRejection', (reason) => {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    log.write('alert', `main thread: uncaught rejection: ${text}`);
  });
}
