/** Arguments of directives that name a folder for temporary files: `client_body_temp_path`, `proxy_temp_path`. */
import { argType } from '../contract/arg-type.js';
import { dirname } from 'node:path';
import { optional, path } from '../contract/args.js';
import { assertFolderAround } from './folder-around.js';
import { ArgError, type ArgType } from '../contract/spec.js';

/** The digits that temporary files are named by. */
export const TEMPORARY_NAME_DIGITS = 10;

export const LEVELS_HINT = `the levels have ${TEMPORARY_NAME_DIGITS} digits in all at the most`;

/** A folder, and how many digits of a file's name make the name of each level of folders in it. */
export interface TemporaryFolder {
  readonly path: string;
  readonly level1: number | undefined;
  readonly level2: number | undefined;
  readonly level3: number | undefined;
}

/** `path [level1 [level2 [level3]]]`. */
export function temporaryFolder(directive: string) {
  const level = optional(folderLevel(directive));
  return { path: folderToMake(), level1: level, level2: level, level3: level };
}

export function levelsOf({ level1, level2, level3 }: TemporaryFolder): number[] {
  return [level1, level2, level3].filter((level) => level !== undefined);
}

/** All levels together are no longer than a file's name. Else the directive has an `invalid value`. */
export function hasFittingLevels(folder: TemporaryFolder): boolean {
  return levelsOf(folder).reduce((digits, level) => digits + level, 0) <= TEMPORARY_NAME_DIGITS;
}

/** A folder that the start makes. The one around it has to exist; the prefix is the start's affair as well. */
function folderToMake(): ArgType<string> {
  const folder = path();
  return {
    ...folder,
    parse(value, context) {
      const result = folder.parse(value, context);
      if (dirname(result) !== context.path('.')) assertFolderAround(result, 'mkdir');
      return result;
    },
  };
}

function folderLevel(directive: string): ArgType<number> {
  return argType({
    kind: 'text',
    form: 'level',
    parse(value) {
      if (/^0*[1-9]\d{0,8}$/.test(value)) return Number(value);
      throw new ArgError(`"${directive}" directive invalid value`, 'a level is a number of digits');
    },
  });
}
