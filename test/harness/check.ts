import { readFileSync } from 'node:fs';
import { Console } from '../../core/cli/console.js';
import { parseOptions } from '../../core/cli/options.js';
import { pathsOf } from '../../core/cli/paths.js';
import { testConfiguration } from '../../core/cli/test-configuration.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { findInstallation } from '../../core/kernel/installation.js';
import type { Scope } from './scope.js';
import { fillPlaceholders } from './placeholders.js';
import { tempFolder, writeInto } from './temp.js';

export interface Check {
  readonly code: number;
  /** Standard error stream of `srv -t`. */
  readonly stderr: string;
  /** Standard output stream of `srv -T`. */
  readonly stdout: string;
  /** The folder of the configuration and the files. */
  readonly prefix: string;
  /** The error log. */
  log(): string;
}

export interface CheckOptions {
  /** Further command line arguments; with `-T` among them the files are printed. */
  readonly args?: readonly string[];
  /** See `testConfiguration`. */
  readonly callMs?: number;
  /** An existing prefix: that of a server, which may run. */
  readonly prefix?: string;
}

/**
 * `srv -t` without a process, which takes most of the time.
 * @param conf undefined: there is none, or the prefix has it
 * @param files below the prefix; placeholders are replaced in them as well
 */
export async function check(
  t: Scope,
  conf: string | undefined,
  files: Readonly<Record<string, string>> = {},
  { args = [], callMs, prefix = tempFolder(t) }: CheckOptions = {},
): Promise<Check> {
  const ports = new Map<string, number>();
  for (const [path, content] of Object.entries({ ...(conf !== undefined && { 'conf/srv.conf': conf }), ...files }))
    writeInto(prefix, path, await fillPlaceholders(t, content, prefix, ports));
  const installation = findInstallation();
  const options = parseOptions(['-t', '-p', prefix, ...args]);
  const paths = pathsOf(options, installation);
  let [stdout, stderr] = ['', ''];
  const logs = new AppendedLogFiles();
  const console = new Console(
    paths.errorLog,
    prefix,
    options.quiet,
    (text) => (stderr += text),
    logs,
    (text) => (stdout += text),
  );
  const code = await testConfiguration({ options, installation, paths, console }, callMs);
  console.files.close();
  return { code, stderr, stdout, prefix, log: () => readFileSync(paths.errorLog, 'utf8') };
}
