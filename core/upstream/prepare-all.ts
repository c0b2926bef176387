import type { Prepared } from '../config/change.js';
import { ErrorCollector } from '../config/error-collector.js';

/** Prepares one thing after the other and makes one of them all. @throws ConfigErrors with the errors of all; nothing is left prepared then */
export async function prepareAll<T>(items: Iterable<T>, prepare: (item: T) => Promise<Prepared>): Promise<Prepared> {
  const errors = new ErrorCollector();
  const parts: Prepared[] = [];
  const abort = (): void => {
    for (const part of parts.toReversed()) part.abort();
  };
  try {
    for (const item of items) {
      try {
        parts.push(await prepare(item));
      } catch (error) {
        errors.add(error);
      }
    }
    errors.throwIfAny();
  } catch (error) {
    abort();
    throw error;
  }
  return {
    commit() {
      for (const part of parts) part.commit();
    },
    abort,
  };
}
