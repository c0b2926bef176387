import { setTimeout as delay } from 'node:timers/promises';

const TIMEOUT_MS = 30_000;

/** Resolves when the probe gives true. @returns the milliseconds that it took */
export async function until(what: string, probe: () => Promise<boolean>): Promise<number> {
  const began = performance.now();
  while (!(await probe())) {
    if (performance.now() - began > TIMEOUT_MS) throw new Error(`${what}: not within ${TIMEOUT_MS / 1000} seconds`);
    await delay(5);
  }
  return Math.round(performance.now() - began);
}
