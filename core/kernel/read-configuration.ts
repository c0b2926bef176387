import { dirname } from 'node:path';
import { parseFile, parseParameter, type Parsed } from '../config/parser.js';
import type { IdSource } from '../config/tree.js';

/** What a server is configured from. */
export interface ConfigurationSource {
  /** Absolute path of the configuration file. */
  readonly conf: string;
  /** Directives of the main level from the command line (`-g`); they come first. */
  readonly globals: string | undefined;
}

/**
 * Reads the command line's directives and the configuration file with all it includes. Syntax errors are in the result.
 * @param texts that count in the place of what files hold, by path
 */
export function readConfiguration(
  { conf, globals }: ConfigurationSource,
  ids: IdSource,
  texts: ReadonlyMap<string, string> = new Map(),
): Parsed {
  const file = parseFile(conf, { ids, texts });
  if (globals === undefined) return file;
  const given = parseParameter(globals, { ids }, dirname(conf));
  return {
    directives: [...given.directives, ...file.directives],
    errors: [...given.errors, ...file.errors],
    files: [...given.files, ...file.files],
    garbled: new Set([...given.garbled, ...file.garbled]),
    follows: new Map([...given.follows, ...file.follows]),
  };
}
