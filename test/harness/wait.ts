import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two probes: the first ones come soon, those of a long wait cost little. */
const SHORTEST_PAUSE = 5;
const LONGEST_PAUSE = 30;
/** As long as the last probe took, up to this: requests over and over would take the processor from what is waited for. */
const LONGEST_REST = 100;

/**
 * Asks `probe` again and again until it returns something else than undefined or false.
 * @param what named in the error when `timeoutMs` have passed
 */
export async function waitFor<T>(what: string, probe: () => T | Promise<T>, timeoutMs = 40_000): Promise<Exclude<T, undefined | false>> {
  const start = Date.now();
  for (;;) {
    const asked = Date.now();
    const answer = await probe();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    const now = Date.now();
    const waited = now - start;
    if (waited > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(Math.max(Math.min(LONGEST_PAUSE, SHORTEST_PAUSE + waited / 40), Math.min(LONGEST_REST, now - asked)));
  }
}
