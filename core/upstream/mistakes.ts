import { ConfigErrors, configErrorsOf, type ConfigError } from '../config/errors.js';

/** Collects mistakes, so that all are reported and not the first one. */
export class Mistakes {
  readonly #errors: ConfigError[] = [];

  /** Runs a step; a mistake in it does not keep the others from being looked at. */
  attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.take(error);
    }
  }

  /** @throws what is no mistake of the configuration */
  take(error: unknown): void {
    const mistakes = configErrorsOf(error);
    if (mistakes === undefined) throw error;
    this.#errors.push(...mistakes);
  }

  /** @throws ConfigErrors */
  throwIfAny(): void {
    if (this.#errors.length > 0) throw new ConfigErrors(this.#errors);
  }
}
