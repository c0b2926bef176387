import { createCipheriv, createDecipheriv, hash, randomBytes } from 'node:crypto';
import { Dice } from './dice.js';
import type { Secrets } from './secrets.js';

export type Mode = 'auto' | 'image' | 'pow';
const MODES = ['auto', 'image', 'pow'] as const;

/** Letters and digits that are not mistaken for one another. */
export const ALPHABET = 'ACEFHKLMNPRTVXY3479';
const PICTURE_LENGTH = 6;
/** Groups of sounds: more where nothing but reading and counting is a solution. And the most sounds in one. */
const SOUND_GROUPS = 6;
const SOUND_GROUPS_ALONE = 12;
const SOUNDS = 6;

/** Bytes of a digest of {@link digestOf}, and of a seed. */
export const DIGEST = 16;
const NONCE = 12;
const TAG = 16;
const CIPHER = 'aes-256-gcm';
/** Bytes of numbers, then digests, then the length of the name of the zone, which the key follows. */
const NUMBERS = 17;
const FIXED = NUMBERS + 2 * DIGEST + 1;
const LONGEST_TOKEN = 512;

/** Properties of a challenge. Digests and the seed are strings of bytes. */
export interface Claims {
  /** Epoch milliseconds. */
  readonly issued: number;
  /** Milliseconds that the solution is valid. */
  readonly expire: number;
  readonly mode: Mode;
  /** Expected hashes of a puzzle. */
  readonly difficulty: number;
  /** Requests per second that the zone allowed. */
  readonly rate: number;
  /** The key that was challenged, as its zone counts it. */
  readonly counted: string;
  /** Digest of zone and key. */
  readonly key: string;
  /** Digest of the request that the page leads back to. */
  readonly page: string;
  /** Text, picture, sound and work follow from it. */
  readonly seed: string;
  readonly zone: string;
}

/** A digest of texts of bytes, as bytes. */
export function digestOf(...texts: readonly string[]): string {
  return hash('sha256', Buffer.from(texts.map((text) => `${text.length}:${text}`).join(''), 'latin1'), 'buffer').toString(
    'latin1',
    0,
    DIGEST,
  );
}

/** The claims as a text that clients can neither read nor change: a challenge that waits needs no memory. */
export function seal(claims: Claims, secrets: Secrets): string {
  const nonce = randomBytes(NONCE);
  const cipher = createCipheriv(CIPHER, keyOf(secrets[0]!), nonce);
  const sealed = [nonce, cipher.update(encode(claims)), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64url');
}

/** Undefined: it was sealed with another secret, or not here. */
export function unseal(token: string, secrets: Secrets): Claims | undefined {
  if (token.length > LONGEST_TOKEN || !/^[\w-]+$/.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length < NONCE + FIXED + TAG || bytes.toString('base64url') !== token) return undefined;
  for (const secret of secrets) {
    const decipher = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, NONCE), { authTagLength: TAG });
    decipher.setAuthTag(bytes.subarray(-TAG));
    const text = decipher.update(bytes.subarray(NONCE, -TAG));
    try {
      decipher.final();
      return decode(text);
    } catch {
      // It may be that of the other secret.
    }
  }
  return undefined;
}

const keyOf = (secret: string): Buffer => hash('sha256', `captcha challenge\0${secret}`, 'buffer');

function encode({ issued, expire, mode, difficulty, rate, counted, page, seed, zone }: Claims): Buffer {
  const fixed = Buffer.alloc(NUMBERS);
  fixed.writeUIntBE(issued, 0, 6);
  fixed.writeUInt32BE(Math.min(Math.ceil(expire / 1000), 2 ** 32 - 1), 6);
  fixed.writeUInt8(MODES.indexOf(mode), 10);
  fixed.writeUInt32BE(difficulty, 11);
  fixed.writeUInt16BE(rate, 15);
  const name = Buffer.from(zone);
  return Buffer.concat([fixed, Buffer.from(page + seed, 'latin1'), Buffer.from([name.length]), name, Buffer.from(counted, 'latin1')]);
}

function decode(bytes: Buffer): Claims {
  const text = (place: number): string => bytes.toString('latin1', NUMBERS + place * DIGEST, NUMBERS + (place + 1) * DIGEST);
  const end = FIXED + bytes.readUInt8(FIXED - 1);
  const [zone, counted] = [bytes.toString('utf8', FIXED, end), bytes.toString('latin1', end)];
  return {
    issued: bytes.readUIntBE(0, 6),
    expire: bytes.readUInt32BE(6) * 1000,
    mode: MODES[bytes.readUInt8(10)] ?? 'image',
    difficulty: bytes.readUInt32BE(11),
    rate: bytes.readUInt16BE(15),
    counted,
    key: digestOf(zone, counted),
    page: text(0),
    seed: text(1),
    zone,
  };
}

/** Characters of the picture. */
export function pictureText({ seed }: Claims): string {
  const dice = new Dice(`text ${seed}`);
  return Array.from({ length: PICTURE_LENGTH }, () => ALPHABET[dice.whole(0, ALPHABET.length - 1)]).join('');
}

/** High tones of each group, a digit each. */
export function soundCounts({ seed, mode }: Pick<Claims, 'seed' | 'mode'>): string {
  const dice = new Dice(`counts ${seed}`);
  const groups = mode === 'image' ? SOUND_GROUPS_ALONE : SOUND_GROUPS;
  return Array.from({ length: groups }, () => String(dice.whole(1, SOUNDS))).join('');
}

/** Beginning of the texts that the work hashes: known to the client, as nothing else of the seed is. */
export function workSalt({ seed }: Claims): string {
  return hash('sha256', Buffer.from(`work ${seed}`, 'latin1'), 'base64url').slice(0, 22);
}
