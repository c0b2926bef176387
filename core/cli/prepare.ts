import { IdSource } from '../config/tree.js';
import type { ParsedText } from '../config/parser.js';
import { readConfiguration } from '../kernel/read-configuration.js';
import type { Owner, PreparedServer } from '../parent/protocol.js';
import type { ServerCommand } from './command.js';
import { namedFiles, type ConfiguredPaths } from './named-files.js';
import { includeFolder } from './paths.js';
import { prepareFiles, readForUser } from './prepared-files.js';
import { isOtherUser } from './user.js';
import { unreachableFolders } from './user-access.js';

type Prepares = Pick<ServerCommand, 'paths' | 'installation' | 'options'>;

/** Messages about folders that the user of a server may not enter. Called as root. */
export function warningsFor(command: Prepares, parsed: ParsedText, user: Owner): readonly string[] {
  return unreachableFolders(namedBy(command, parsed), user);
}

/** Does as root what the server of a configuration cannot do as its user. */
export function prepareFor(command: Prepares, parsed: ParsedText, user: Owner): PreparedServer {
  const named = namedBy(command, parsed);
  const { pidFile, dataFolder, sockets, errorLogs } = named;
  if (!isOtherUser(user)) return { pidFile, dataFolder, sockets, errorLogs, files: new Map() };
  prepareFiles(named, user);
  return { pidFile, dataFolder, sockets, errorLogs, files: readForUser(named, user) };
}

/**
 * The whole work of the process that the parent starts for a reload. Resolves when the parent has the result.
 * @param user its numbers, `1:1`
 */
export async function prepareForParent(command: Prepares, user: string): Promise<void> {
  const { paths, options } = command;
  const [uid = 0, gid = 0] = user.split(':').map(Number);
  const prepared = prepareFor(command, readConfiguration({ conf: paths.conf, globals: options.globals }, new IdSource()), { uid, gid });
  await new Promise<void>((resolve) => process.send?.(prepared, undefined, undefined, () => resolve()));
}

function namedBy({ paths, installation }: Prepares, parsed: ParsedText): ConfiguredPaths {
  const { prefix, errorLog } = paths;
  return namedFiles(parsed, { prefix, conf: includeFolder(paths) }, { errorLog, installation });
}
