import type { Holds } from '../contract/zones.js';

/** Look for the result; undefined: there is none yet. */
export type Find<T> = () => T | undefined | Promise<T | undefined>;

/** How long one waits for the work of another. */
export interface Patience {
  /** Milliseconds. */
  readonly ms: number;
  /** Ends the wait, as the time does: the signal of the request. */
  readonly signal?: AbortSignal;
}

/** It was found, or the caller is to make it: it holds the key until it calls `release`, which has an effect once. */
export type FoundOrHeld<T> =
  | { readonly found: T; readonly release?: undefined }
  | { readonly found?: undefined; readonly release: () => void };

/**
 * One of many does the work for all, over all workers: looks for its result, and waits while another one holds the key. The key of a worker that
 * dies is released, and one of the waiting requests gets it.
 * @returns undefined if the time is over, or the signal aborted; also when the zone has no room for the key for so long
 */
export async function findOrHold<T>(
  holds: Holds,
  key: string,
  find: Find<T>,
  { ms, signal }: Patience,
): Promise<FoundOrHeld<T> | undefined> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await find();
    if (found !== undefined) return { found };
    if (holds.acquire(key, 1) === 'held') return foundOr(holder(holds, key), find);
    if (!(await holds.whenBelow(key, 1, end - performance.now(), signal))) return undefined;
  }
}

/**
 * {@link findOrHold} for work that is done when its promise is settled.
 * @param work makes it, and stores it where `find` looks
 * @returns what was found, or what `work` has returned; undefined if the time is over
 */
export async function once<T>(
  holds: Holds,
  key: string,
  find: Find<T>,
  work: () => Promise<T>,
  patience: Patience,
): Promise<T | undefined> {
  const turn = await findOrHold(holds, key, find, patience);
  if (turn?.release === undefined) return turn?.found;
  try {
    return await work();
  } finally {
    turn.release();
  }
}

/** Another one may have stored it just before. */
async function foundOr<T>(release: () => void, find: Find<T>): Promise<FoundOrHeld<T>> {
  try {
    const found = await find();
    if (found === undefined) return { release };
    release();
    return { found };
  } catch (error) {
    release();
    throw error;
  }
}

function holder(holds: Holds, key: string): () => void {
  let isHeld = true;
  return () => {
    if (isHeld) holds.release(key);
    isHeld = false;
  };
}
