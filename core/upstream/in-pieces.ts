import { setImmediate } from 'node:timers/promises';

/** Milliseconds for which traffic waits at most while something long is being prepared. */
const PIECE = 2;
/** Steps between two looks at the time. */
const STEPS = 16;

/** Does a step for each item. Undefined: it is done. A long run continues in pieces, between which traffic is served. */
export function inPieces<T>(items: Iterable<T>, step: (item: T) => void): Promise<void> | undefined {
  const rest = items[Symbol.iterator]();
  return isDone(rest, step) ? undefined : goOn(rest, step);
}

async function goOn<T>(rest: Iterator<T>, step: (item: T) => void): Promise<void> {
  do await setImmediate();
  while (!isDone(rest, step));
}

/** One piece. @returns whether it was the last one */
function isDone<T>(rest: Iterator<T>, step: (item: T) => void): boolean {
  const start = performance.now();
  for (let count = 1; ; count++) {
    const next = rest.next();
    if (next.done === true) return true;
    step(next.value);
    if (count % STEPS === 0 && performance.now() - start > PIECE) return false;
  }
}
