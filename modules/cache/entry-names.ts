/** Names of files: digests of keys, and for other variants of the fields that select them. */
import type { HttpRequest } from '../../core/contract/http.js';
import type { CachingRules } from './rules.js';

// The functions of node:crypto are loaded where they are needed: workers start without them.

/** MD5, in hexadecimal digits. */
export function digest(text: string): string {
  return process.getBuiltinModule('node:crypto').hash('md5', Buffer.from(text, 'latin1'), 'hex');
}

/** Texts of this many characters at most are remembered with their digests, and as many of them. */
const SHORT = 256;
const REMEMBERED = 1024;

/** Digests of texts that were asked for lately. */
export class RecentDigests {
  readonly #known = new Map<string, string>();

  of(text: string): string {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const made = digest(text);
    if (text.length > SHORT) return made;
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    this.#known.set(text, made);
    return made;
  }
}

export function randomSeed(): string {
  return process.getBuiltinModule('node:crypto').randomBytes(8).toString('hex');
}

/** Digest of the fields that Vary names. Empty: it names none. */
export function variantOf(vary: string, request: HttpRequest, rules: CachingRules): string {
  if (vary === '') return '';
  const names = vary
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 0) return '';
  return digest(names.map((name) => `${name}: ${rules.selectingValue(name, request.header(name))}`).join('\n'));
}
