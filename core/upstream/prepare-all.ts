import type { Prepared } from '../kernel/follower.js';
import { Mistakes } from '../config/mistakes.js';

/** Prepares one thing after the other and makes one of them all. @throws ConfigErrors with the mistakes of all; nothing is left prepared then */
export async function prepareAll<T>(items: Iterable<T>, prepare: (item: T) => Promise<Prepared>): Promise<Prepared> {
  const mistakes = new Mistakes();
  const parts: Prepared[] = [];
  const abort = (): void => {
    for (const part of parts.toReversed()) part.abort();
  };
  try {
    for (const item of items) {
      try {
        parts.push(await prepare(item));
      } catch (error) {
        mistakes.take(error);
      }
    }
    mistakes.throwIfAny();
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
