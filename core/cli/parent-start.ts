/**
 * A start of a server that has a parent: one of root that runs as another user, and one with sockets of systemd. This process becomes its
 * parent, or starts one in the background: it loads none of the server, so that it is small and quick.
 */
import { join } from 'node:path';
import { ConfigErrors } from '../config/errors.js';
import type { ParsedText } from '../config/parser.js';
import { IdSource } from '../config/tree.js';
import { findInstallation } from '../kernel/installation.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import { limitOpenFiles } from '../master/open-files.js';
import { CHILD_MARK, DAEMON_MARK, PREPARE_MARK, SUCCESSOR_MARK } from '../parent/marks.js';
import { passedDescriptors, type PassedDescriptor } from '../parent/activation.js';
import { Parent, type Starter } from '../parent/parent.js';
import { inheritedSockets } from '../parent/successor.js';
import { commandLine } from '../upgrade/program.js';
import type { ParentStart } from '../parent/protocol.js';
import { UPGRADE_SOCKET } from '../upgrade/upgrade-mark.js';
import type { ServerCommand } from './command.js';
import { Console } from './console.js';
import { startDaemon } from './daemon.js';
import { leaveLogsToServer } from './leave-logs.js';
import { OptionError, parseOptions, type Options } from './options.js';
import { pathsOf } from './paths.js';
import { prepareFor, prepareForParent, warningsFor } from './prepare.js';
import { wantsDaemon, wordOf } from './start-words.js';
import { isOtherUser, ownUser, userOf } from './user.js';
import { installationErrors } from './user-access.js';

type Start = Pick<ServerCommand, 'paths' | 'installation' | 'options'>;

/** @returns false: the command is for others to carry out, errors included */
export async function startWithParent(args: readonly string[]): Promise<boolean> {
  const options = optionsOfStart(args);
  if (options === undefined) return false;
  const installation = findInstallation();
  const start: Start = { options, installation, paths: pathsOf(options, installation) };
  const user = process.env[PREPARE_MARK];
  if (user !== undefined) {
    await prepareForParent(start, user);
    process.exit(0);
  }
  const parsed = readConfiguration({ conf: start.paths.conf, globals: options.globals }, new IdSource());
  if (parsed.errors.length > 0) return false;
  const passed = passedDescriptors();
  const owner = ownerOf(parsed) ?? (passed.length > 0 ? ownUser() : undefined);
  if (owner === undefined) return false;
  await run(start, parsed, { user: owner, passed });
  return true;
}

/** User of the server, and its sockets of systemd. */
interface ForWhom {
  readonly user: ParentStart['user'];
  readonly passed: readonly PassedDescriptor[];
}

async function run(start: Start, parsed: ParsedText, { user, passed }: ForWhom): Promise<void> {
  const { paths, options } = start;
  const console = new Console(paths.errorLog, paths.prefix, options.quiet, say);
  leaveLogsToServer(console.files, parsed);
  const errors = isOtherUser(user) ? installationErrors(start.installation, user) : [];
  if (errors.length > 0) {
    console.report(new ConfigErrors(errors));
    console.files.flush();
    process.exit(1);
  }
  if (isOtherUser(user)) for (const text of warningsFor(start, parsed, user)) console.complain('warn', text);
  // The server has it open, and reopens it.
  console.files.close();
  // The server inherits it, and says so where it is not what it should be.
  const openFiles = Number(wordOf(parsed, 'worker_rlimit_nofile'));
  if (openFiles > 0) limitOpenFiles(openFiles);
  const isBackground = wantsDaemon(parsed);
  if (isBackground && passed.length > 0) {
    say('srv: [emerg] "daemon on" is not possible with sockets of systemd: set "daemon off"\n');
    process.exit(1);
  }
  const prepared = prepareFor(start, parsed, user);
  const parentStart: ParentStart = {
    command: [process.argv[1] ?? '', ...process.argv.slice(2)],
    line: commandLine(),
    environment: { [CHILD_MARK]: '1', ...(isBackground && { [DAEMON_MARK]: '1' }), ...codeCache(start, prepared.dataFolder) },
    user,
    title: paths.conf,
    prepared,
  };
  const isSuccessor = process.env[SUCCESSOR_MARK] !== undefined;
  if (isBackground && !isSuccessor) process.exit(await startDaemon(console, parentStart));
  const starter: Starter = { say, ready: () => undefined, ended: (code) => process.exit(code) };
  new Parent(parentStart, starter, await inheritedSockets(), passed).run();
}

/** For the user of the command; for a parent that is to be replaced, to that. */
function say(text: string): void {
  if (process.connected) process.send?.({ say: text });
  else process.stderr.write(text);
}

/** Compiled code is kept for each user: it is in the folder of the server, since the installation is not the user's. */
function codeCache({ installation }: Start, dataFolder: string): Readonly<Record<string, string>> {
  const isOurs = process.env['NODE_COMPILE_CACHE']?.startsWith(installation.program) === true;
  return isOurs ? { NODE_COMPILE_CACHE: join(dataFolder, 'code') } : {};
}

/** Undefined for another command than a start, and for a start that has begun already. */
function optionsOfStart(args: readonly string[]): Options | undefined {
  if (process.env[DAEMON_MARK] !== undefined) return undefined;
  if (process.env[UPGRADE_SOCKET] !== undefined && process.env[SUCCESSOR_MARK] === undefined) return undefined;
  try {
    const options = parseOptions(args);
    return options.signal !== undefined || options.test || options.version || options.help ? undefined : options;
  } catch (error) {
    if (error instanceof OptionError) return undefined;
    throw error;
  }
}

/** Undefined: the server stays root's, or the user is an error of the configuration. */
function ownerOf(parsed: ParsedText): ParentStart['user'] | undefined {
  try {
    return userOf(parsed);
  } catch {
    return undefined;
  }
}
