import { ConfReader } from '../config/conf.js';
import { configErrorsOf } from '../config/errors.js';
import type { ArgContext, Directives } from '../module/spec.js';
import type { Fault, Faults } from './fault.js';

/** The defaults that the arguments of their own directive refuse. */
export function* defaultFaults(directives: Directives, args: ArgContext): Faults {
  const conf = new ConfReader(directives).read({ context: 'main', block: undefined }, undefined, args);
  for (const [key, spec] of Object.entries(directives)) {
    try {
      // Values are read when they are asked for.
      void conf[key];
    } catch (error) {
      const [{ message, hint } = error as Fault] = configErrorsOf(error) ?? [];
      yield { message: `default "${spec.default}" of directive "${spec.name ?? key}" is refused: ${message}`, hint };
    }
  }
}
