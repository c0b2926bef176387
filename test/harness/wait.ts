import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks `probe` again and again until it returns something else than undefined or false.
 * @param what named in the error when `timeoutMs` have passed
 */
export async function waitFor<T>(what: string, probe: () => T | Promise<T>, timeoutMs = 40_000): Promise<Exclude<T, undefined | false>> {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const answer = await probe();
    if (answer !== undefined && answer !== false) return answer as Exclude<T, undefined | false>;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await sleep(10);
  }
}
