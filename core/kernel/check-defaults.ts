import { ConfReader } from '../config/conf.js';
import { configErrorsOf } from '../config/errors.js';
import type { AnyArgContext, Directives } from '../contract/spec.js';
import { ManifestError, type ManifestErrors } from './manifest-error.js';

/** The defaults that the arguments of their own directive reject. */
export function* defaultErrors(directives: Directives, args: AnyArgContext): ManifestErrors {
  const conf = new ConfReader(directives).read({ context: 'main', block: undefined }, undefined, args);
  for (const [key, spec] of Object.entries(directives)) {
    if (typeof spec.block === 'object') yield* defaultErrors(spec.block.directives, args);
    try {
      // Values are read when they are asked for.
      void conf[key];
    } catch (error) {
      const [{ message, hint } = error as ManifestError] = configErrorsOf(error) ?? [];
      const empty = spec.default === '' ? `it is written as in a file: default: '""' is an empty text` : undefined;
      yield new ManifestError(`default "${spec.default}" of directive "${spec.name ?? key}" is rejected: ${message}`, empty ?? hint);
    }
  }
}
