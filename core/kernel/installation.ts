import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** Where the running program lies. */
export interface Installation {
  /** The package folder: holds `conf/`, and is the default prefix. */
  readonly root: string;
  /** The compiled program: holds `core/` and `modules/`. */
  readonly program: string;
  readonly version: string;
}

/** The installation this file belongs to: the nearest folder above it that is a package. */
export function findInstallation(): Installation {
  const program = resolve(import.meta.dirname, '../..');
  let root = program;
  while (!existsSync(join(root, 'package.json'))) {
    const parent = dirname(root);
    if (parent === root) throw new Error(`no package.json in or above ${program}: the installation is incomplete`);
    root = parent;
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return { root, program, version };
}
