import { hash } from 'node:crypto';

/** Puzzles of one challenge: the time of all together varies less than that of one. */
export const PUZZLES = 16;
/** Expected hashes of a puzzle at first: 65,536 for a challenge. */
const BASE = 4096;
/** Growth of the difficulty at most. */
const MOST = 64;
const FORM = /^\d{1,12}(?:\.\d{1,12}){15}$/;

/** Expected hashes of a puzzle. @param count requests of the key in the last second @param rate requests that are allowed */
export function difficultyOf(count: number, rate: number): number {
  return BASE * Math.min(MOST, Math.max(1, Math.floor(count / rate)));
}

/**
 * True if the nonces solve all puzzles: the first 32 bits of SHA-256 of `salt:puzzle:nonce` are below 2^32 / difficulty.
 * @param work the nonces in the order of the puzzles, with dots in between
 */
export function isWorkDone(salt: string, difficulty: number, work: string): boolean {
  if (!FORM.test(work)) return false;
  const bound = 2 ** 32 / difficulty;
  return work.split('.').every((nonce, puzzle) => hash('sha256', `${salt}:${puzzle}:${nonce}`, 'buffer').readUInt32BE(0) < bound);
}
