import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Installation } from './installation.js';

interface Around {
  readonly prefix: string;
  readonly installation: Installation;
}

/**
 * The configuration file of a helper: under the prefix, else the shipped one of the same name.
 * @param path absolute
 */
export function helperFile(path: string, { prefix, installation }: Around): string {
  if (existsSync(path)) return path;
  const shipped = join(installation.root, relative(prefix, path));
  return existsSync(shipped) ? shipped : path;
}
