import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two probes: the first ones come soon, those of a long wait cost little. */
const SHORTEST_PAUSE = 5;
const LONGEST_PAUSE = 30;

/**
 * Asks `probe` again and again until it returns something else than undefined or false.
 * @param what named in the error when `timeoutMs` have passed
 */
export async function waitFor<T>(what: string, probe: () => T | Promise<T>, timeoutMs = 40_000): Promise<Exclude<T, undefined | false>> {
  const start = Date.now();
  for (;;) {
    const answer = await probe();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    const waited = Date.now() - start;
    if (waited > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(Math.min(LONGEST_PAUSE, SHORTEST_PAUSE + waited / 40));
  }
}
