import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Folder of the running program. */
export interface Installation {
  /** The package folder: holds `conf/`, and is the default prefix. */
  readonly root: string;
  /** The compiled program: holds `core/` and `modules/`. */
  readonly program: string;
  readonly version: string;
  /** The files of the modules that come with the program, by their names in their order: `modules/<feature>/<name>.js`. */
  readonly modules: ReadonlyMap<string, string>;
}

const MODULE_FILE = /^srv_\w+_module\.js$/;

/** Looks for the modules at first use. */
class FoundInstallation implements Installation {
  #modules: ReadonlyMap<string, string> | undefined;

  constructor(
    readonly root: string,
    readonly program: string,
    readonly version: string,
  ) {}

  get modules(): ReadonlyMap<string, string> {
    return (this.#modules ??= modulesIn(join(this.program, 'modules')));
  }
}

function modulesIn(folder: string): ReadonlyMap<string, string> {
  if (!existsSync(folder)) return new Map();
  const features = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  // Hundreds of calls of join() would be compiled by V8, which takes ten milliseconds.
  const files = features.flatMap(({ name }) => moduleFilesIn(`${folder}/${name}`));
  return new Map(files.map((file) => [basename(file, '.js'), file] as const).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function moduleFilesIn(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((file) => (MODULE_FILE.test(file) ? [`${folder}/${file}`] : []));
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
  return new FoundInstallation(root, program, version);
}
