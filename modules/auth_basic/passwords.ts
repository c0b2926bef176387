import { Hasher } from './hasher.js';
import type { Credentials } from './credentials.js';
import type { User } from './user-file.js';
import { VerifiedPasswords } from './verified.js';

/** crypt(3) takes no longer ones. */
const LONGEST = 512;
/** Bytes of SHA-1 in front of the salt of `{SSHA}`. */
const SHA1_SIZE = 20;

/** Checks passwords: hashes that are fast to compute at once, others on a thread. Compared in constant time. */
export class Passwords {
  readonly #crypto = process.getBuiltinModule('node:crypto');
  readonly #verified = new VerifiedPasswords();
  readonly #hasher = new Hasher();
  /** Checks under way by their digests: many requests of one client begin at once. */
  readonly #underWay = new Map<string, Promise<boolean>>();

  /**
   * @param mayKeep a right password may be known for a while: not where the user is a decoy, so that the time does not reveal that it is
   * the password of another user
   * @returns undefined: too many passwords are being checked already
   */
  check(credentials: Credentials, { stored }: User, mayKeep: boolean): boolean | Promise<boolean> | undefined {
    const { password } = credentials;
    if (stored.startsWith('{')) return this.#checkFast(password, stored);
    if (password.length > LONGEST || password.includes('\0')) return false;
    const digest = this.#verified.digest(`${credentials.user}:${password}`, stored);
    if (this.#verified.has(digest)) return true;
    return this.#underWay.get(digest) ?? (this.#hasher.isFull ? undefined : this.#checkSlow(password, stored, digest, mayKeep));
  }

  stop(): Promise<void> {
    return this.#hasher.stop();
  }

  async #checkSlow(password: string, stored: string, digest: string, mayKeep: boolean): Promise<boolean> {
    const check = this.#hasher.check(password, stored);
    this.#underWay.set(digest, check);
    try {
      const isRight = await check;
      if (isRight && mayKeep) this.#verified.add(digest);
      return isRight;
    } finally {
      this.#underWay.delete(digest);
    }
  }

  #checkFast(password: string, stored: string): boolean {
    const end = stored.indexOf('}') + 1;
    const value = stored.slice(end);
    if (stored.startsWith('{PLAIN}')) return this.#areEqual(this.#sha1(password), this.#sha1(value));
    const expected = Buffer.from(value, 'base64');
    const salt = expected.subarray(SHA1_SIZE).latin1Slice();
    return this.#areEqual(this.#sha1(password + salt), expected.subarray(0, SHA1_SIZE));
  }

  #sha1(bytes: string): Buffer {
    return this.#crypto.createHash('sha1').update(bytes, 'latin1').digest();
  }

  #areEqual(one: Buffer, other: Buffer): boolean {
    return one.length === other.length && this.#crypto.timingSafeEqual(one, other);
  }
}
