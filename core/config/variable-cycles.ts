/** Variables that are evaluated by evaluating themselves: found when a configuration takes effect, so that others cost nothing. */
import type { Getter } from '../contract/template.js';

/**
 * At least one name of each cycle that can be reached.
 * @param starts where the search begins
 * @param usesOf the names that are evaluated for one
 */
export function cyclesFrom(starts: Iterable<string>, usesOf: (name: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const seen = new Set<string>();
  for (const start of starts) {
    if (seen.has(start)) continue;
    seen.add(start);
    const way = [{ name: start, rest: usesOf(start).values() }];
    const names = new Set([start]);
    for (let last = way.at(-1); last !== undefined; last = way.at(-1)) {
      const { value: next } = last.rest.next();
      if (next === undefined) names.delete(way.pop()!.name);
      else if (names.has(next)) found.add(next);
      else if (!seen.has(next)) {
        seen.add(next);
        names.add(next);
        way.push({ name: next, rest: usesOf(next).values() });
      }
    }
  }
  return found;
}

/** A getter without a value while it is being evaluated. @param onCycle called then */
export function withoutCycle<R>(getter: Getter<R>, onCycle: (request: R) => void): Getter<R> {
  let isAsked = false;
  return (request) => {
    if (isAsked) {
      onCycle(request);
      return undefined;
    }
    isAsked = true;
    try {
      return getter(request);
    } finally {
      isAsked = false;
    }
  };
}
