import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import type { ExecutionContext } from 'ava';
import { formatConfigErrors } from '../../core/config/error-report.js';
import { configErrorsOf } from '../../core/config/errors.js';
import { IdSource } from '../../core/config/tree.js';
import { checkConfiguration } from '../../core/kernel/check-configuration.js';
import { compileAlone } from '../../core/kernel/compile-alone.js';
import { findInstallation } from '../../core/kernel/installation.js';
import { Instance, type InstanceOptions } from '../../core/kernel/instance.js';
import { ErrorLog } from '../../core/log/error-log.js';
import { AppendedLogFiles } from '../../core/log/log-files.js';
import { fillPlaceholders } from './srv.js';
import { tempFolder, writeInto } from './temp.js';

const LOG = 'logs/error.log';

export interface Check {
  readonly code: number;
  /** What `srv -t` would write on stderr about errors. */
  readonly stderr: string;
  /** The warnings of `srv -t`. */
  readonly warnings: readonly string[];
  /** The folder of the configuration and the files. */
  readonly prefix: string;
  /** What was logged. */
  log(): string;
}

/** `srv -t` of a data plane without a process: loads the modules, checks and compiles the configuration. */
export async function check(
  t: ExecutionContext,
  conf: string,
  files: Readonly<Record<string, string>> = {},
  options: Pick<InstanceOptions, 'callMs'> = {},
): Promise<Check> {
  const prefix = tempFolder(t);
  const ports = new Map<string, number>();
  for (const [path, content] of Object.entries({ 'conf/srv.conf': conf, [LOG]: '', ...files }))
    writeInto(prefix, path, await fillPlaceholders(t, content, prefix, ports));
  const logFiles = new AppendedLogFiles();
  const warnings: string[] = [];
  const log = new ErrorLog(logFiles, '1#0', [{ path: join(prefix, LOG), level: 'debug' }]);
  const identity = { role: 'master', worker: -1, installation: findInstallation(), prefix, confFolder: join(prefix, 'conf') } as const;
  const instance = new Instance({ ...identity, ...options, log, validates: false, warn: (message) => void warnings.push(message) });
  const errors = await failuresOf(() =>
    compileAlone(instance, async () => {
      const { tree } = await checkConfiguration({ conf: join(prefix, 'conf/srv.conf'), globals: undefined }, new IdSource(), instance);
      return tree.toData();
    }),
  );
  logFiles.close();
  const stderr = formatConfigErrors(errors, { program: 'srv', readLine });
  return { code: errors.length === 0 ? 0 : 1, stderr, warnings, prefix, log: () => readFileSync(join(prefix, LOG), 'utf8') };
}

function readLine(file: string, line: number): string | undefined {
  return readFileSync(file, 'utf8').split('\n')[line - 1];
}

async function failuresOf(step: () => Promise<void>): Promise<NonNullable<ReturnType<typeof configErrorsOf>>> {
  try {
    await step();
    return [];
  } catch (error) {
    const errors = configErrorsOf(error);
    if (errors === undefined) throw error;
    return errors;
  }
}
