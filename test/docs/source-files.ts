/** The source of the project as the tests of its rules read it. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, sep } from 'node:path';
import { findInstallation } from '../../core/kernel/installation.js';

export const ROOT = findInstallation().root;

export interface SourceFile {
  /** Relative to the root, with slashes: `core/net/clock.ts`. */
  readonly path: string;
  readonly text: string;
}

/** All TypeScript files below these folders. */
export function sourceFiles(...folders: readonly string[]): readonly SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.m?ts$/.test(name) && !/(^|[\\/])(node_modules|dist)[\\/]/.test(name))
      .map((name) => join(folder, name).replaceAll(sep, '/'))
      .map((path) => ({ path, text: readRoot(path) })),
  );
}

export function readRoot(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

export interface Import {
  /** What is imported: the path of a file of the project, or the name of a package. */
  readonly target: string;
  readonly relative: boolean;
  readonly typesOnly: boolean;
  /** `import()`: loaded when it is needed. */
  readonly lazy: boolean;
}

const IMPORT = /^(?:import|export)\b(?<kind> type\b)?[^;'"]*?from '(?<from>[^']+)'|^import '(?<bare>[^']+)'|\bimport\('(?<lazy>[^']+)'\)/gm;

/** What a file imports, in any of the ways there are. */
export function importsOf({ path, text }: SourceFile): readonly Import[] {
  return [...text.matchAll(IMPORT)].map(({ groups }) => {
    const specifier = groups?.['from'] ?? groups?.['bare'] ?? groups?.['lazy'] ?? '';
    const relative = specifier.startsWith('.');
    const target = relative
      ? normalize(join(dirname(path), specifier))
          .replaceAll(sep, '/')
          .replace(/\.js$/, '.ts')
      : specifier;
    return { target, relative, typesOnly: groups?.['kind'] !== undefined, lazy: groups?.['lazy'] !== undefined };
  });
}
