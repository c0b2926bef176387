import type { ManifestError } from './manifest-error.js';

/** Why a module cannot be loaded. `hint` says what to do about it. */
export class ModuleLoadError extends Error {
  constructor(
    message: string,
    readonly hint?: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The hint for what is not an error in what a module declares, but thrown by its code. */
export const SEE_LOG = 'the code of the module has thrown this: the [crit] line of the log has the stack';

/** Several reasons, all of them reported. */
export class ModuleErrors extends ModuleLoadError {
  readonly reasons: readonly ModuleLoadError[];

  constructor(file: string, errors: readonly ManifestError[]) {
    const reasons = errors.map(({ message, hint }) => new ModuleLoadError(`cannot load module "${file}": ${message}`, hint));
    super(reasons.map(({ message }) => message).join('; '));
    this.reasons = reasons;
  }
}
