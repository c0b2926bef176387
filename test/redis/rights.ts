import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

const PAGE = resolve(import.meta.dirname, '../../../docs/cluster.md');

/** The rights that docs/cluster.md gives the user of a cluster, after the pattern of its keys: `+time`, and so on. */
export function documentedRights(): readonly string[] {
  const [, rights = ''] = /ACL SETUSER srv on >PASSWORD ~\{srv:\* (.*)/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  return rights.split(' ');
}
