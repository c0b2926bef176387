import type { Parsed } from '../config/parser.js';
import type { AppendedLogFiles } from '../log/log-files.js';
import { handOver } from '../master/privileges.js';

/**
 * Gives the log files and folders that this run made as root to the `user` of the configuration: the server could not open them, or anew
 * after a rotation, otherwise. Also where the configuration has errors: it is fixed next.
 */
export function leaveLogsToServer({ paths }: AppendedLogFiles, { directives }: Parsed): void {
  const [name, group] = directives.find((directive) => directive.name === 'user')?.args ?? [];
  if (!name) return;
  try {
    handOver({ name: name.text, group: group?.text }, { paths: paths.made, folders: [] });
  } catch {
    // There is no such user: that is one of the errors.
  }
}
