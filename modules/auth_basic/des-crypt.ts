import { ALPHABET } from './crypt-text.js';

/** Tables of FIPS 46-3. Bits are numbered from 1 on, as in FIPS 46-3. */
const PC1 =
  '57 49 41 33 25 17 9 1 58 50 42 34 26 18 10 2 59 51 43 35 27 19 11 3 60 52 44 36 63 55 47 39 31 23 15 7 62 54 46 38 30 22 14 6 61 53 45 37 29 21 13 5 28 20 12 4';
const PC2 =
  '14 17 11 24 1 5 3 28 15 6 21 10 23 19 12 4 26 8 16 7 27 20 13 2 41 52 31 37 47 55 30 40 51 45 33 48 44 49 39 56 34 53 46 42 50 36 29 32';
const P = '16 7 20 21 29 12 28 17 1 15 23 26 5 18 31 10 2 8 24 14 32 27 3 9 19 13 30 6 22 11 4 25';
const LAST =
  '40 8 48 16 56 24 64 32 39 7 47 15 55 23 63 31 38 6 46 14 54 22 62 30 37 5 45 13 53 21 61 29 36 4 44 12 52 20 60 28 35 3 43 11 51 19 59 27 34 2 42 10 50 18 58 26 33 1 41 9 49 17 57 25';
/** Rows of the S-boxes, one after the other, in hexadecimal digits. */
const BOXES = [
  'e4d12fb83a6c5907 0f74e2d1a6cb9538 41e8d62bfc973a50 fc8249175b3ea06d',
  'f18e6b34972dc05a 3d47f28ec01a69b5 0e7ba4d158c6932f d8a13f42b67c05e9',
  'a09e63f51dc7b428 d709346a285ecbf1 d6498f30b12c5ae7 1ad069874fe3b52c',
  '7de3069a1285bc4f d8b56f03472c1ae9 a690cb7df13e5284 3f06a1d8945bc72e',
  '2c417ab6853fd0e9 eb2c47d150fa3986 421bad78f9c5630e b8c71e2d6f09a453',
  'c1af92680d34e75b af427c9561de0b38 9ef528c3704a1db6 432c95fabe17608d',
  '4b2ef08d3c975a61 d0b7491ae35c2f86 14bdc37eaf680592 6bd814a7950fe23c',
  'd2846fb1a93e50c7 1fd8a374c56b0e92 7b419ce206adf358 21e74a8dfc90356b',
];
/** Bits by which the halves of the key are rotated before each round. */
const ROTATIONS = [1, 1, 2, 2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 1];
const TIMES = 25;
const LONGEST = 8;

type Bits = readonly number[];

/** The hash of a password by the traditional crypt(3): DES, a salt of two characters. Only the first eight characters count, and seven bits of each. */
export function desCrypt(password: Buffer, salt: string): string {
  const keys = roundKeys(password);
  const swapped = saltBits(salt);
  let left: Bits = Array.from({ length: 32 }, () => 0);
  let right = left;
  for (let time = 0; time < TIMES; time++) {
    for (const key of keys) [left, right] = [right, xor(left, mangle(right, key, swapped))];
    [left, right] = [right, left];
  }
  return salt.slice(0, 2) + textOf(pick([...left, ...right], numbers(LAST)));
}

/** The keys of the 16 rounds. */
function roundKeys(password: Buffer): readonly Bits[] {
  const key: number[] = [];
  for (let at = 0; at < LONGEST; at++) for (let bit = 6; bit >= -1; bit--) key.push(bit < 0 ? 0 : ((password[at] ?? 0) >> bit) & 1);
  const chosen = pick(key, numbers(PC1));
  let [left, right] = [chosen.slice(0, 28), chosen.slice(28)];
  const order = numbers(PC2);
  return ROTATIONS.map((count) => {
    left = rotated(left, count);
    right = rotated(right, count);
    return pick([...left, ...right], order);
  });
}

/** Which of the first 24 bits of an expanded half change places with the bits 24 further on. */
function saltBits(salt: string): readonly boolean[] {
  const values = Array.from(salt.slice(0, 2), (character) => ALPHABET.indexOf(character));
  return Array.from({ length: 24 }, (_, bit) => bit < 12 && (((values[bit < 6 ? 0 : 1] ?? 0) >> (bit % 6)) & 1) === 1);
}

/** The function f of DES, with the salt. */
function mangle(half: Bits, key: Bits, swapped: readonly boolean[]): Bits {
  const expanded = Array.from({ length: 48 }, (_, bit) => half[(4 * Math.floor(bit / 6) + (bit % 6) + 31) % 32]!);
  for (const [bit, isSwapped] of swapped.entries())
    if (isSwapped) [expanded[bit], expanded[bit + 24]] = [expanded[bit + 24]!, expanded[bit]!];
  const mixed = xor(expanded, key);
  const out: number[] = [];
  for (const [box, rows] of SUBSTITUTIONS.entries()) {
    const [a, b, c, d, e, f] = mixed.slice(box * 6, box * 6 + 6) as [number, number, number, number, number, number];
    const value = rows[(a * 2 + f) * 16 + b * 8 + c * 4 + d * 2 + e]!;
    out.push((value >> 3) & 1, (value >> 2) & 1, (value >> 1) & 1, value & 1);
  }
  return pick(out, PERMUTATION);
}

const SUBSTITUTIONS: readonly (readonly number[])[] = BOXES.map((box) =>
  Array.from(box.replaceAll(' ', ''), (digit) => Number.parseInt(digit, 16)),
);
const PERMUTATION = numbers(P);

function numbers(table: string): readonly number[] {
  return table.split(' ').map(Number);
}

function pick(bits: Bits, order: readonly number[]): number[] {
  return order.map((place) => bits[place - 1]!);
}

function rotated(bits: number[], count: number): number[] {
  return [...bits.slice(count), ...bits.slice(0, count)];
}

function xor(one: Bits, other: Bits): number[] {
  return one.map((bit, at) => bit ^ other[at]!);
}

/** Six bits a character, the most significant first. */
function textOf(bits: Bits): string {
  let text = '';
  for (let at = 0; at < bits.length; at += 6)
    text +=
      ALPHABET[
        Number.parseInt(
          bits
            .slice(at, at + 6)
            .join('')
            .padEnd(6, '0'),
          2,
        )
      ];
  return text;
}
