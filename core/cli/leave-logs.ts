import { lchownSync } from 'node:fs';
import type { ParsedText } from '../config/parser.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { userOf } from './user.js';

/**
 * Gives the log files and folders that this run made as root to the `user` of the configuration: the server could not open them, or again
 * after a rotation, otherwise. Also where the configuration has errors: it is fixed next.
 */
export function leaveLogsToServer({ paths }: AppendedLogFiles, parsed: ParsedText): void {
  try {
    const owner = userOf(parsed);
    if (owner !== undefined) for (const path of paths.made) lchownSync(path, owner.uid, owner.gid);
  } catch {
    // There is no such user, which is one of the errors; or the file was removed.
  }
}
