/** The thread that computes slow hashes of passwords, so that requests need not wait for those of others. */
import { timingSafeEqual } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { compareSync } from 'bcryptjs';
import { desCrypt } from './des-crypt.js';
import { md5Crypt } from './md5-crypt.js';
import { shaCrypt } from './sha-crypt.js';

/** A password to check. */
export interface HashJob {
  readonly id: number;
  /** Bytes as a latin1 string. */
  readonly password: string;
  /** A hash of the forms that `user-file` accepts. */
  readonly stored: string;
}
export interface HashResult {
  readonly id: number;
  readonly isRight: boolean;
}

parentPort?.on('message', ({ id, password, stored }: HashJob) => {
  const result: HashResult = { id, isRight: isRight(Buffer.from(password, 'latin1'), stored) };
  parentPort?.postMessage(result);
});

function isRight(password: Buffer, stored: string): boolean {
  // The package takes text and hashes its bytes in UTF-8: other bytes become other ones, and the password is wrong.
  if (stored.startsWith('$2')) return compareSync(password.toString(), stored);
  const computed = Buffer.from(hashOf(password, stored), 'latin1');
  const expected = Buffer.from(stored, 'latin1');
  return computed.length === expected.length && timingSafeEqual(computed, expected);
}

function hashOf(password: Buffer, stored: string): string {
  const [, md5Prefix, salt = ''] = /^(\$1\$|\$apr1\$)([^$]*)/.exec(stored) ?? [];
  if (md5Prefix === '$1$' || md5Prefix === '$apr1$') return md5Crypt(password, md5Prefix, salt);
  return shaCrypt(password, stored) ?? desCrypt(password, stored);
}
