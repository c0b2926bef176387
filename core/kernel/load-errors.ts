import { ConfigError, errorAt } from '../config/errors.js';
import type { Log } from '../contract/log.js';
import type { Directive } from '../contract/tree.js';
import { ModuleErrors, ModuleLoadError } from './module-load-error.js';

/**
 * Why a module cannot be loaded, as errors at the line that asks for it. Exceptions of the module itself go to the log with their stack.
 * @param line undefined: the module is loaded by default
 * @throws `failure` if it is something else
 */
export function loadErrors(failure: unknown, line: Directive | undefined, log: Log): ConfigError[] {
  if (!(failure instanceof ModuleLoadError)) throw failure;
  const { message, cause } = failure;
  if (cause instanceof Error) log.write('crit', `${message}: ${cause.stack ?? cause.message}`);
  const reasons = failure instanceof ModuleErrors ? failure.reasons : [failure];
  return reasons.map(({ message, hint }) =>
    line === undefined
      ? new ConfigError(message, undefined, 1, hint ?? 'the installation is incomplete: build it again')
      : errorAt(line, message, line.args[0], hint),
  );
}
