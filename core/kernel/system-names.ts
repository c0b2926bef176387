import { argType } from '../contract/arg-type.js';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { ArgError, type ArgType } from '../contract/spec.js';

/** Where names are kept, and the function of the system that looks them up: nginx names it in its message. */
const LOOKUPS = { passwd: 'getpwnam', group: 'getgrnam' } as const;

/** The name of a user (`passwd`) or of a group that this system knows. As in nginx it counts, and is looked up, for root only. */
export function systemName(database: keyof typeof LOOKUPS): ArgType<string> {
  return argType({
    kind: 'text',
    form: database === 'passwd' ? 'user' : 'group',
    parse(name) {
      if (process.getuid?.() === 0 && !isKnown(database, name)) throw new ArgError(`${LOOKUPS[database]}("${name}") failed`);
      return name;
    },
  });
}

/** Node.js itself looks a name up only where it takes on the identity. */
function isKnown(database: string, name: string): boolean {
  if (linesOf(`/etc/${database}`).some((line) => line.startsWith(`${name}:`))) return true;
  // Directory services know names that the file does not. Without the program a start finds out.
  const { status, error } = spawnSync('getent', [database, name], { stdio: 'ignore' });
  return error !== undefined || status === 0;
}

function linesOf(file: string): readonly string[] {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
}
