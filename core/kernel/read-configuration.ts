import { dirname, join } from 'node:path';
import type { GrantedFiles } from '../config/granted-files.js';
import { parseFile, parseParameter, type ParsedText } from '../config/parser.js';
import type { IdSource } from '../config/tree.js';
import { findInstallation } from './installation.js';

/** Sources of a server's configuration. */
export interface ConfigurationSource {
  /** Absolute path of the configuration file. */
  readonly conf: string;
  /** Directives of the main level from the command line (`-g`); they come first. */
  readonly globals: string | undefined;
  /** Files that another process has read for this one. */
  readonly granted?: GrantedFiles | undefined;
}

/**
 * Reads the command line's directives and the configuration file with all it includes. Syntax errors are in the result.
 * @param texts that count in the place of what files hold, by path
 */
export function readConfiguration(
  { conf, globals, granted }: ConfigurationSource,
  ids: IdSource,
  texts: ReadonlyMap<string, string> = new Map(),
): ParsedText {
  const { root } = findInstallation();
  // `include conf/api.conf;` and `include mime.types;` work in every prefix.
  const shipped = [root, join(root, 'conf')];
  const file = parseFile(conf, { ids, texts, shipped, granted });
  if (globals === undefined) return file;
  const given = parseParameter(globals, { ids, shipped, granted }, dirname(conf));
  return {
    directives: [...given.directives, ...file.directives],
    errors: [...given.errors, ...file.errors],
    files: [...given.files, ...file.files],
    garbled: new Set([...given.garbled, ...file.garbled]),
    follows: new Map([...given.follows, ...file.follows]),
  };
}
