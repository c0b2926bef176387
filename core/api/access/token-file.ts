/**
 * The file of `api_tokens`: a line a token, `NAME sha256:HASH [expires=TIME] SCOPE…`. Tokens have 256 random bits, so that a fast hash protects
 * them as well as a slow one.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { statSync } from 'node:fs';
import type { InputFile } from '../../contract/resource.js';
import { ScopeError, Scopes, SCOPES_HINT } from './scopes.js';

/** Starts every token, so that scanners for secrets in repositories find it. */
const PREFIX = 'srv_';
const RANDOM_BYTES = 32;
/** A longer text is not a token. */
const LONGEST_TOKEN = 200;
/** Of a file that others may read or write. */
const OTHERS = 0o077;

const NAME = /^[A-Za-z0-9][\w.@+-]{0,63}$/;
const HASH = /^sha256:([0-9a-f]{64})$/;
const FORM_HINT = 'a line is NAME sha256:HASH [expires=TIME] SCOPE…, as "srv token add" writes it';

export interface Token {
  /** Its owner: the actor of history and audit log. */
  readonly name: string;
  readonly hash: Buffer;
  /** Epoch milliseconds; undefined: it does not expire. */
  readonly expires: number | undefined;
  readonly scopes: Scopes;
}

/** Why a line is none of a token. */
export class TokenLineError extends Error {
  constructor(
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

export function makeToken(): string {
  return PREFIX + randomBytes(RANDOM_BYTES).toString('base64url');
}

export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** The token that was sent, or undefined. Takes the same time for each of them. */
export function findToken(tokens: readonly Token[], sent: string): Token | undefined {
  if (sent.length > LONGEST_TOKEN) return undefined;
  const hash = hashOf(sent);
  let found: Token | undefined;
  for (const token of tokens) if (timingSafeEqual(token.hash, hash)) found = token;
  return found;
}

/** Reads the file for the configuration: every error at its line. */
export function tokensIn(file: InputFile): readonly Token[] {
  const lines = [...file.text.split('\n').entries()].filter(([, line]) => !isEmpty(line));
  const names = new Set<string>();
  return file.each(lines, ([at, line]) => {
    try {
      const token = parseTokenLine(line);
      if (names.has(token.name)) throw new TokenLineError(`duplicate token name "${token.name}"`, 'remove one of the lines');
      names.add(token.name);
      return token;
    } catch (error) {
      if (error instanceof TokenLineError) return file.fail(at + 1, error.message, error.hint);
      throw error;
    }
  });
}

export const isEmpty = (line: string): boolean => /^\s*(?:#|$)/.test(line);

/** @throws TokenLineError */
export function parseTokenLine(line: string): Token {
  const [name = '', hashText = '', ...rest] = line.trim().split(/\s+/);
  assertTokenName(name);
  const [, hex] = HASH.exec(hashText) ?? [];
  // The word may be a token in the wrong place: it is not shown.
  if (hex === undefined) throw new TokenLineError(`token "${name}" has no valid hash`, FORM_HINT);
  const expiry = rest[0]?.startsWith('expires=') === true ? rest.shift() : undefined;
  return {
    name,
    hash: Buffer.from(hex, 'hex'),
    expires: expiry === undefined ? undefined : parseExpiry(expiry),
    scopes: scopesOf(name, rest),
  };
}

export function printTokenLine({ name, hash, expires, scopes }: Token): string {
  const expiry = expires === undefined ? [] : [`expires=${expiryText(expires)}`];
  return [name, `sha256:${hash.toString('hex')}`, ...expiry, ...scopes.words].join(' ');
}

export const expiryText = (expires: number): string => new Date(expires).toISOString().replace(/\.\d+Z$/, 'Z');

/** @throws TokenLineError */
export function assertTokenName(name: string): void {
  if (!NAME.test(name)) throw new TokenLineError(`invalid token name "${name}"`, 'a name has up to 64 letters, digits and . _ @ + -');
}

/** @throws TokenLineError */
export function scopesOf(name: string, words: readonly string[]): Scopes {
  try {
    return new Scopes(words);
  } catch (error) {
    if (error instanceof ScopeError) throw new TokenLineError(`token "${name}": ${error.message}`, SCOPES_HINT);
    throw error;
  }
}

function parseExpiry(word: string): number {
  const time = Date.parse(word.slice('expires='.length));
  if (!/^expires=\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?Z$/.test(word) || Number.isNaN(time))
    throw new TokenLineError(`invalid expiry "${word}"`, 'the time is written like expires=2027-01-31T12:00:00Z');
  return time;
}

/** Why the file must not be used; undefined: only its owner can read and change it. */
export function exposureOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || (found.mode & OTHERS) === 0) return undefined;
  return `"${path}" can be read or changed by other users (mode 0${(found.mode & 0o777).toString(8)})`;
}
