import { isDeepStrictEqual } from 'node:util';
import { ConfigErrors, configErrorsOf, type ConfigError } from './errors.js';

/** Collects configuration errors, so that all are reported and not only the first. One error that several places find in one line counts once. */
export class ErrorCollector {
  readonly #errors: ConfigError[] = [];
  readonly #byMessage = new Map<string, ConfigError[]>();

  /** Runs a step; an error in it does not stop the others. @returns undefined where there was one */
  attempt<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /** @throws what is not a configuration error */
  add(thrown: unknown): void {
    const errors = configErrorsOf(thrown);
    if (errors === undefined) throw thrown;
    for (const error of errors) this.#addOnce(error);
  }

  /** How many there are so far. */
  get size(): number {
    return this.#errors.length;
  }

  get isEmpty(): boolean {
    return this.#errors.length === 0;
  }

  /** Undefined: there were none. */
  toError(): ConfigErrors | undefined {
    return this.isEmpty ? undefined : new ConfigErrors(this.#errors);
  }

  /** @throws ConfigErrors */
  throwIfAny(): void {
    const error = this.toError();
    if (error !== undefined) throw error;
  }

  #addOnce(error: ConfigError): void {
    const alike = this.#byMessage.get(error.message) ?? [];
    if (error.source !== undefined && alike.some(({ source }) => isDeepStrictEqual(source, error.source))) return;
    this.#byMessage.set(error.message, [...alike, error]);
    this.#errors.push(error);
  }
}

/** Takes a step with each item; an error in one does not stop the others. @throws ConfigErrors with all of them */
export function eachCollecting<T, R>(items: Iterable<T>, step: (item: T) => R): R[] {
  const errors = new ErrorCollector();
  const results: R[] = [];
  for (const item of items) errors.attempt(() => results.push(step(item)));
  errors.throwIfAny();
  return results;
}
