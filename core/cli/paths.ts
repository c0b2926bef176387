import { dirname, resolve } from 'node:path';
import type { Installation } from '../kernel/installation.js';
import type { Options } from './options.js';

const DEFAULT_CONF = 'conf/srv.conf';
const DEFAULT_ERROR_LOG = 'logs/error.log';

/** Where things are for one run, all absolute. */
export interface Paths {
  /** Relative paths of the configuration are under it. */
  readonly prefix: string;
  readonly conf: string;
  /** `-e`, else logs/error.log: where messages go that no `error_log` line claims. Or `stderr`. */
  readonly errorLog: string;
}

export function pathsOf(options: Options, installation: Installation): Paths {
  const prefix = resolve(options.prefix ?? installation.root);
  const errorLog = options.errorLog ?? DEFAULT_ERROR_LOG;
  return {
    prefix,
    conf: resolve(prefix, options.conf ?? DEFAULT_CONF),
    errorLog: errorLog === 'stderr' ? errorLog : resolve(prefix, errorLog),
  };
}

/** Relative `include` paths of `-g` are under the same folder as those of the configuration file. */
export function includeFolder(paths: Paths): string {
  return dirname(paths.conf);
}
