import { hash } from 'node:crypto';
import { cryptText } from './crypt-text.js';

const LEAST_ROUNDS = 1000;
const MOST_ROUNDS = 999_999_999;
const DEFAULT_ROUNDS = 5000;
const LONGEST_SALT = 16;

type Algorithm = 'sha256' | 'sha512';

/** `$5$` or `$6$`, `rounds=…$` where it is written, and the salt. */
const SETTING = /^\$([56])\$(rounds=(\d{1,10})\$)?([^$]*)/;

/**
 * The hash of a password by the algorithm, rounds and salt of a stored one (SHA-crypt by Ulrich Drepper, version 0.6: the names of the
 * digests are his). Undefined: the stored one is none of this kind.
 */
export function shaCrypt(password: Buffer, stored: string): string | undefined {
  const [, id, roundsText = '', rounds, longSalt = ''] = SETTING.exec(stored) ?? [];
  if (id === undefined) return undefined;
  const salt = longSalt.slice(0, LONGEST_SALT);
  const count = rounds === undefined ? DEFAULT_ROUNDS : Math.min(Math.max(Number(rounds), LEAST_ROUNDS), MOST_ROUNDS);
  const written = roundsText === '' ? '' : `rounds=${count}$`;
  const algorithm = id === '5' ? 'sha256' : 'sha512';
  return `$${id}$${written}${salt}$${textOf(digestOf(password, Buffer.from(salt, 'latin1'), count, algorithm))}`;
}

function digestOf(password: Buffer, salt: Buffer, rounds: number, algorithm: Algorithm): Buffer {
  const digest = (...parts: readonly Buffer[]): Buffer => hash(algorithm, Buffer.concat(parts), 'buffer');
  const b = digest(password, salt, password);
  const a = digest(password, salt, Buffer.alloc(password.length, b), ...lengthBits(password, b));
  const p = Buffer.alloc(password.length, digest(Buffer.alloc(password.length ** 2, password)));
  const s = Buffer.alloc(salt.length, digest(Buffer.alloc(salt.length * (16 + a[0]!), salt)));
  let c = a;
  for (let round = 0; round < rounds; round++) {
    const isOdd = round % 2 === 1;
    c = digest(isOdd ? p : c, round % 3 === 0 ? NOTHING : s, round % 7 === 0 ? NOTHING : p, isOdd ? c : p);
  }
  return c;
}

const NOTHING = Buffer.alloc(0);

/** For each bit of the length, the lowest first: the digest, or the password. */
function lengthBits(password: Buffer, digest: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let bits = password.length; bits > 0; bits >>= 1) parts.push((bits & 1) === 1 ? digest : password);
  return parts;
}

/** Three bytes each, a third of the digest apart; which one is the first goes round, from one group to the next. */
function textOf(digest: Buffer): string {
  const third = Math.floor(digest.length / 3);
  const turn = digest.length === 32 ? 2 : 1;
  let text = '';
  for (let at = 0; at < third; at++) {
    const group = [digest[at]!, digest[at + third]!, digest[at + 2 * third]!];
    const first = (at * turn) % 3;
    text += cryptText([...group.slice(first), ...group.slice(0, first)]);
  }
  return text + cryptText([...digest.subarray(third * 3)].reverse());
}
