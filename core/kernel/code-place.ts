/** Where in its files the code of a module is wrong: `/srv/modules/acme.js:3:14`. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Installation } from './installation.js';

/** A line of a stack: `    at f (file:///x.js:3:14)`, `    at /x.ts:3:14` with a source map. */
const FRAME = /^ +at (?:.* \(|async )?(?<file>(?:file:\/\/)?\/.*):(?<line>\d+):(?<column>\d+)\)?$/gm;
/** Lines of Node.js above an error: the file and the line, the line's text, a mark below the column. */
const SHOWN = /^(?<file>(?:file:\/\/)?\/.*):(?<line>\d+)\n.*\n(?<indent>\s*)\^/;
/** Longest check of one file's syntax, in milliseconds. */
const CHECK_MS = 5000;

/**
 * @param error what the import of the module has thrown
 * @param files that were read by now, in this order, and the module's own
 * @param installation of srv, whose functions the module may have called
 * @returns undefined if the error has no place, as that of a package which is not installed
 */
export async function codePlace(error: unknown, files: readonly string[], installation: Installation): Promise<string | undefined> {
  if (!(error instanceof Error)) return undefined;
  const { stack = '' } = error;
  return shownPlace(stack) ?? framePlace(stack, installation) ?? (error instanceof SyntaxError ? await syntaxErrorPlace(files) : undefined);
}

function shownPlace(text: string): string | undefined {
  const groups = SHOWN.exec(text)?.groups;
  return groups === undefined ? undefined : `${pathOf(groups['file'])}:${groups['line']}:${(groups['indent'] ?? '').length + 1}`;
}

function framePlace(stack: string, { program, root }: Installation): string | undefined {
  // Its source maps name its sources.
  const own = [`${program}/`, `${root}/core/`];
  for (const { groups } of stack.matchAll(FRAME)) {
    const path = pathOf(groups?.['file']);
    if (!own.some((folder) => path.startsWith(folder))) return `${path}:${groups?.['line']}:${groups?.['column']}`;
  }
  return undefined;
}

/** The error that an import throws for a syntax error has no place: only a process that checks the file alone says where it is. */
async function syntaxErrorPlace(files: readonly string[]): Promise<string | undefined> {
  // The file itself, then what was read last: several modules may be loading.
  for (const file of files.toReversed()) {
    const place = shownPlace(await syntaxCheck(file));
    if (place !== undefined) return place;
  }
  return undefined;
}

function syntaxCheck(file: string): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--check', file], { timeout: CHECK_MS }, (_error, _stdout, stderr) => resolve(stderr));
  });
}

function pathOf(file = ''): string {
  return file.startsWith('file:') ? fileURLToPath(file) : file;
}
