import { hash } from 'node:crypto';

/** Numbers that follow from a seed, and cannot be guessed without it: xoshiro128** on its digest. */
export class Dice {
  readonly #state: Uint32Array;

  /** @param seed a string of bytes */
  constructor(seed: string) {
    const digest = hash('sha256', Buffer.from(seed, 'latin1'), 'buffer');
    this.#state = Uint32Array.from({ length: 4 }, (_, at) => digest.readUInt32LE(at * 4));
  }

  between(least: number, most: number): number {
    return least + (this.#next() / 2 ** 32) * (most - least);
  }

  /** Both included. */
  whole(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  #next(): number {
    const state = this.#state;
    const second = state[1]!;
    const product = Math.imul(second, 5);
    const result = Math.imul((product << 7) | (product >>> 25), 9) >>> 0;
    state[2]! ^= state[0]!;
    state[3]! ^= second;
    state[1]! ^= state[2]!;
    state[0]! ^= state[3]!;
    state[2]! ^= second << 9;
    state[3] = (state[3]! << 11) | (state[3]! >>> 21);
    return result;
  }
}
