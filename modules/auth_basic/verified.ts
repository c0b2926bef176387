/** How long a password that was right is not hashed again, in milliseconds. */
const VALID_MS = 60_000;
const MOST_ENTRIES = 10_000;

/**
 * Passwords that were right a short time ago. It has no password and no hash that one could be guessed by: only keyed digests, the key of
 * which is made at the start and is nowhere else.
 */
export class VerifiedPasswords {
  readonly #crypto = process.getBuiltinModule('node:crypto');
  readonly #secret = this.#crypto.createSecretKey(this.#crypto.randomBytes(32));
  /** Until when each digest is valid; the oldest first. */
  readonly #until = new Map<string, number>();

  /** @param stored the hash it was compared with: another one in the file is another digest */
  digest(credentials: string, stored: string): string {
    return this.#crypto.createHmac('sha256', this.#secret).update(`${stored}\0${credentials}`, 'latin1').digest('latin1');
  }

  has(digest: string): boolean {
    return (this.#until.get(digest) ?? 0) > Date.now();
  }

  add(digest: string): void {
    this.#until.delete(digest);
    this.#until.set(digest, Date.now() + VALID_MS);
    if (this.#until.size <= MOST_ENTRIES) return;
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest);
      break;
    }
  }
}
