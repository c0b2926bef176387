import { readFileSync } from 'node:fs';
import { Console } from '../../core/cli/console.js';
import { parseOptions } from '../../core/cli/options.js';
import { pathsOf } from '../../core/cli/paths.js';
import { testConfiguration } from '../../core/cli/test-configuration.js';
import { findInstallation } from '../../core/kernel/installation.js';
import type { Scope } from './scope.js';
import { fillPlaceholders } from './placeholders.js';
import { tempFolder, writeInto } from './temp.js';

export interface Check {
  readonly code: number;
  /** What `srv -t` writes on its standard error stream. */
  readonly stderr: string;
  /** The folder of the configuration and the files. */
  readonly prefix: string;
  /** What was logged. */
  log(): string;
}

export interface CheckOptions {
  /** Further command line arguments. */
  readonly args?: readonly string[];
  /** See `testConfiguration`. */
  readonly callMs?: number;
}

/**
 * `srv -t` without a process, which takes most of the time.
 * @param files below the prefix; placeholders are replaced in them as well
 */
export async function check(
  t: Scope,
  conf: string,
  files: Readonly<Record<string, string>> = {},
  { args = [], callMs }: CheckOptions = {},
): Promise<Check> {
  const prefix = tempFolder(t);
  const ports = new Map<string, number>();
  for (const [path, content] of Object.entries({ 'conf/srv.conf': conf, ...files }))
    writeInto(prefix, path, await fillPlaceholders(t, content, prefix, ports));
  const installation = findInstallation();
  const options = parseOptions(['-t', '-p', prefix, ...args]);
  const paths = pathsOf(options, installation);
  let stderr = '';
  const console = new Console(paths.errorLog, prefix, options.quiet, (text) => (stderr += text));
  const code = await testConfiguration({ options, installation, paths, console }, callMs);
  console.files.close();
  return { code, stderr, prefix, log: () => readFileSync(paths.errorLog, 'utf8') };
}
