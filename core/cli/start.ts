import { IdSource } from '../config/tree.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { Master } from '../master/master.js';
import { obeySignals } from '../master/signals.js';
import type { Log } from '../module/services.js';
import type { Command } from './command.js';
import { announce } from './announce.js';

/** Marks the background process of `daemon on`. */
const DAEMON = 'SRV_DAEMON';

/** Starts the server: here, or in a background process. */
export async function start(command: Command): Promise<void> {
  const isDaemon = process.env[DAEMON] !== undefined;
  delete process.env[DAEMON];
  if (isDaemon || !wantsDaemon(command)) return serve(command, isDaemon);
  const { startDaemon } = await import('./daemon.js');
  process.exitCode = await startDaemon(command, DAEMON);
}

/** What `daemon` says. A configuration that cannot be read is refused in the foreground. */
function wantsDaemon({ paths, options }: Command): boolean {
  const { directives, errors } = readConfiguration({ conf: paths.conf, globals: options.globals }, new IdSource());
  const value = directives.find((directive) => directive.name === 'daemon')?.args[0]?.text;
  return errors.length === 0 && value?.toLowerCase() !== 'off';
}

async function serve({ paths, options, installation, console }: Command, daemon: boolean): Promise<void> {
  process.title = `srv: master process ${paths.conf}`;
  const { log, files } = console;
  const master = new Master({
    installation,
    prefix: paths.prefix,
    source: { conf: paths.conf, globals: options.globals },
    errorLog: paths.errorLog,
    log,
    files,
    report: (failure) => console.report(failure),
  });
  const exit = (code: number): never => {
    files.flush();
    process.exit(code);
  };
  obeySignals(master, { log, daemon, ended: () => exit(0) });
  try {
    await master.start();
  } catch (error) {
    console.report(error);
    await master.stop();
    exit(1);
  }
  if (daemon) process.send?.({ ready: true }, () => process.disconnect?.());
  else if (!options.quiet) announce(master);
  console.detach();
  surviveErrors(log);
}

/** From here on an error that nobody expected is no reason to end: the workers serve without the main thread. */
function surviveErrors(log: Log): void {
  process.on('uncaughtException', (error) => log.write('alert', `main thread: uncaught exception: ${error.stack ?? error.message}`));
  process.on('unhandledRejection', (reason) => {
    const text = reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
    log.write('alert', `main thread: uncaught rejection: ${text}`);
  });
}
