import { existsSync } from 'node:fs';
import { findInstallation } from '../kernel/installation.js';
import { exitProcess, forbidExit } from '../kernel/process-exit.js';
import type { ServerCommand } from './command.js';
import type { Output } from './explained-configuration.js';
import { Console } from './console.js';
import { OptionError, parseOptions, type Options } from './options.js';
import { pathsOf, type Paths } from './paths.js';
import { isSubcommand, parseSubcommand, type SubcommandName } from './subcommands.js';
import { buildText, usage, versionText } from './usage.js';

/** Runs the command line. Resolves when the command has done its work; for a server that is when it runs. */
export default async function main(args: readonly string[]): Promise<void> {
  const [first, ...others] = args;
  if (first === 'token') {
    process.exitCode = await (await import('./token.js')).tokenCommand(others);
    return;
  }
  if (isSubcommand(first)) return runSubcommand(first, others);
  const options = understood(() => parseOptions(args));
  if (!options) return;
  const installation = findInstallation();
  if (options.version) process.stderr.write(versionText(installation));
  if (options.build) {
    const { possibleMethods } = await import('../net/transport/transports.js');
    process.stderr.write(buildText(installation, possibleMethods()));
  }
  if (options.help) process.stderr.write(usage(installation));
  if (options.version && !options.test) return;

  const paths = pathsOf(options, installation);
  const console = new Console(errorLogOf(options, paths), paths.prefix, options.quiet, say);
  process.once('exit', () => console.files.flush());
  const command = { options, installation, paths, console };
  forbidExit();
  const code = await run(command);
  // Resources that modules opened when they were imported would keep the process from ending.
  if (code !== undefined) exitProcess(code);
}

const OUTPUT: Output = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
};

/** Commands that look at a configuration and end. */
async function runSubcommand(name: SubcommandName, args: readonly string[]): Promise<void> {
  const command = understood(() => parseSubcommand(name, args), name === 'test' ? 2 : 1);
  if (command === undefined) return;
  forbidExit();
  const installation = findInstallation();
  const code =
    name === 'explain'
      ? await (await import('./explain.js')).explainRequest(command, installation, OUTPUT)
      : await (await import('./routing-tests.js')).runRoutingTests(command, installation, OUTPUT);
  // Resources that modules opened when they were imported would keep the process from ending.
  exitProcess(code);
}

/**
 * Each command loads what it needs and no more: a check of the configuration is to be quick.
 * @returns the exit code; undefined: it is a server, which goes on
 */
async function run(command: ServerCommand): Promise<number | undefined> {
  const { signal, test } = command.options;
  if (signal !== undefined) return (await import('./signal.js')).signalServer(signal, command);
  if (test) return (await import('./test-configuration.js')).testConfiguration(command);
  return (await import('./start.js')).start(command);
}

/**
 * The log of this run. A signal opens none: made by the one who gives it, the file might be closed to the server, which reopens its own.
 * Neither does a check where no configuration is: nothing of srv belongs there.
 */
function errorLogOf({ signal, test }: Options, { errorLog, conf }: Paths): string {
  return signal !== undefined || (test && !existsSync(conf)) ? 'stderr' : errorLog;
}

/** The options, or undefined when they are not understood: that has been said then. @param code of the process */
function understood<T>(read: () => T, code = 1): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    process.stderr.write(`srv: ${error.message}\nsrv: "srv -h" lists the options\n`);
    process.exitCode = code;
    return undefined;
  }
}

/** For the user of the command. The background process of `daemon on` sends it to the one that waits for it. */
function say(text: string): void {
  if (process.send) process.send({ say: text });
  else process.stderr.write(text);
}
