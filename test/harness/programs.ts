/** Tests that need a program which is not ours. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import test from 'ava';

/** The path of a program, or undefined if it is not installed. Daemons are mostly in folders that a user's PATH leaves out. */
export function findProgram(name: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/local/sbin'];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * `test` where the program is installed, else `test.skip`: `npm test` names what was skipped at its end. Put the program into the title.
 *
 * ```ts
 * testWith('nginx')('nginx agrees about …', t => …);
 * ```
 */
export function testWith(program: string): typeof test.skip {
  return findProgram(program) === undefined ? test.skip : test;
}
