import { hash } from 'node:crypto';
import { cryptText } from './crypt-text.js';

const ROUNDS = 1000;
const SIZE = 16;

/** The hash of a password as `$1$salt$…` (MD5-crypt of FreeBSD) or, with the other prefix, `$apr1$salt$…` (Apache). */
export function md5Crypt(password: Buffer, prefix: '$1$' | '$apr1$', salt: string): string {
  const saltBytes = Buffer.from(salt, 'latin1');
  const mixed = md5(password, saltBytes, password);
  let digest = md5(password, Buffer.from(prefix), saltBytes, repeated(mixed, password.length), lengthBits(password));
  for (let round = 0; round < ROUNDS; round++) {
    const isOdd = round % 2 === 1;
    digest = md5(
      isOdd ? password : digest,
      round % 3 === 0 ? NOTHING : saltBytes,
      round % 7 === 0 ? NOTHING : password,
      isOdd ? digest : password,
    );
  }
  return `${prefix}${salt}$${textOf(digest)}`;
}

const NOTHING = Buffer.alloc(0);

function md5(...parts: readonly Buffer[]): Buffer {
  return hash('md5', Buffer.concat(parts), 'buffer');
}

function repeated(bytes: Buffer, length: number): Buffer {
  return Buffer.alloc(length, bytes);
}

/** For each bit of the length, the lowest first: a zero byte, or the first byte of the password. */
function lengthBits(password: Buffer): Buffer {
  const bytes: number[] = [];
  for (let bits = password.length; bits > 0; bits >>= 1) bytes.push((bits & 1) === 1 ? 0 : password[0]!);
  return Buffer.from(bytes);
}

function textOf(digest: Buffer): string {
  let text = '';
  for (let at = 0; at < 5; at++) text += cryptText([digest[at]!, digest[at + 6]!, digest[at === 4 ? 5 : at + 12]!]);
  return text + cryptText([digest[SIZE - 5]!]);
}
