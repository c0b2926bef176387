import { hash } from 'node:crypto';

/** Puzzles of one challenge: the time of all together varies less than that of one. */
export const PUZZLES = 16;
/** Expected hashes of a puzzle at first: 65,536 for a challenge. */
const BASE = 4096;
/** Growth of the difficulty at most. */
const MOST = 64;
const FORM = /^\d{1,12}(?:\.\d{1,12}){15}$/;

/** A challenge whose work was chosen before the rate rose is accepted up to this factor: a rate goes up and down. */
const TOLERATED = 4;

/**
 * Expected hashes of a puzzle.
 * @param count requests of the key in the last second @param rate requests that are allowed @param worked work that the key has done lately
 */
export function difficultyOf(count: number, rate: number, worked: number): number {
  return BASE * Math.min(MOST, Math.max(1, Math.floor(count / rate), 1 + worked));
}

/** True if work of that difficulty is much less than what is asked for now: cheap challenges are not for keeping. */
export function isTooEasy(difficulty: number, wanted: number): boolean {
  return difficulty * TOLERATED < wanted;
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
