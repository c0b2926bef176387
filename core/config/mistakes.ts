import { isDeepStrictEqual } from 'node:util';
import { ConfigErrors, configErrorsOf, type ConfigError } from './errors.js';

/** Collects mistakes, so that all are reported and not the first one. What several places have from one line is told once. */
export class Mistakes {
  readonly #errors: ConfigError[] = [];

  /** Runs a step; a mistake in it does not keep the others from being looked at. @returns undefined where there was one */
  attempt<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.take(error);
      return undefined;
    }
  }

  /** @throws what is no mistake of the configuration */
  take(error: unknown): void {
    const mistakes = configErrorsOf(error);
    if (mistakes === undefined) throw error;
    for (const mistake of mistakes) if (!this.#errors.some((known) => isSame(known, mistake))) this.#errors.push(mistake);
  }

  get isEmpty(): boolean {
    return this.#errors.length === 0;
  }

  /** @throws ConfigErrors */
  throwIfAny(): void {
    if (!this.isEmpty) throw new ConfigErrors(this.#errors);
  }
}

function isSame(one: ConfigError, other: ConfigError): boolean {
  return one.message === other.message && one.source !== undefined && isDeepStrictEqual(one.source, other.source);
}
