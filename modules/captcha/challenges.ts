import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { RecordFields, Records } from '../../core/contract/zones.js';
import { isWorkDone } from './work.js';

export type Mode = 'auto' | 'image' | 'pow';
const MODES = ['auto', 'image', 'pow'] as const;

const NUMBERS = ['issued', 'guesses', 'loads', 'mode', 'difficulty', 'expire', 'seed'] as const;
/** Bytes of the strings of a record. */
const STRINGS = { id: 16, picture: 8, sound: 8, page: 16, zone: 64 } as const;
export const CHALLENGE_RECORDS = { fields: NUMBERS, strings: STRINGS } as const;
type Numbers = (typeof NUMBERS)[number];
type Strings = keyof typeof STRINGS;
type ChallengeFields = RecordFields<Numbers, Strings>;
export type ChallengeRecords = Records<Numbers, Strings>;

/** The longest name of a zone. */
export const LONGEST_ZONE = STRINGS.zone;
/** Milliseconds that a challenge waits for its solution. */
export const LIFETIME = 1_200_000;
/** Attempts at one challenge. */
export const GUESSES = 5;
/** Challenges of one key at a time: a further one takes the place of the oldest, so that no client can push those of others out of the zone. */
const PLACES = 16;
/** Pictures and sounds of one challenge, and of one key in a minute. */
const LOADS = 6;
const LOADS_A_MINUTE = 60;
const MINUTE = 60_000;

const DIGEST = 16;
/** Bytes of a token: digest of the key, place, id. */
const TOKEN = DIGEST + 1 + STRINGS.id;
const TOKEN_FORM = /^[\w-]{44}$/;

/** Letters and digits that are not mistaken for one another. */
export const ALPHABET = 'ACEFHKLMNPRTVXY3479';
export const PICTURE_LENGTH = 6;
/** Groups of sounds, and the most sounds in one. */
export const SOUND_GROUPS = 5;
export const SOUNDS = 6;

/** A challenge, as the page shows it. */
export interface Challenge {
  readonly token: string;
  readonly mode: Mode;
  /** Beginning of the texts that the work hashes. */
  readonly salt: string;
  readonly difficulty: number;
  readonly zone: string;
  /** Digest of the key that was challenged. */
  readonly key: string;
  /** Milliseconds that the solution is valid. */
  readonly expire: number;
  readonly guessesLeft: number;
}

/** Properties of a new challenge. */
export interface Asked {
  readonly zone: string;
  readonly key: string;
  readonly mode: Mode;
  readonly difficulty: number;
  readonly expire: number;
  /** Digest of the request that the page leads back to. */
  readonly page: string;
}

export interface Solution {
  /** Characters or counts; empty: none. */
  readonly text: string;
  /** Result of the work; empty: none. */
  readonly work: string;
  readonly page: string;
}

/** Text of a picture, or counts of sounds, and what its form follows from. */
export interface Loaded {
  readonly text: string;
  readonly seed: number;
}

/** `gone`: no such challenge, or it was solved, has expired, or was about another page. `wrong`: further guesses are left. */
export type Verdict = 'right' | 'wrong' | 'spent' | 'gone';

/** A digest of texts of bytes, as bytes. */
export function digestOf(...texts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const text of texts) hash.update(`${text.length}:`).update(text, 'latin1');
  return hash.digest('latin1').slice(0, DIGEST);
}

/** The challenges that wait for a solution, over all workers. */
export class Challenges {
  constructor(private readonly records: ChallengeRecords) {}

  issue({ zone, key, mode, difficulty, expire, page }: Asked, now: number): Challenge {
    const place = String.fromCharCode((this.records.add(key, 'issued', 1) ?? 0) % PLACES);
    const id = randomBytes(STRINGS.id).toString('latin1');
    const seed = randomInt(2 ** 48 - 1);
    const made = { id, page, zone, difficulty, expire, seed, mode: MODES.indexOf(mode), picture: randomText(), sound: randomCounts() };
    this.records.update(key + place, renew, { ...made, now });
    return shown(key, place, made, GUESSES);
  }

  /** Undefined: there is none of that token any more. */
  find(token: string, now: number): Challenge | undefined {
    const named = parseToken(token);
    const fields = named && this.records.get(named.key + named.place);
    if (named === undefined || fields === undefined || !isWaiting(fields, named.id, now)) return undefined;
    return shown(named.key, named.place, fields, GUESSES - fields.guesses);
  }

  /** Text and seed of a picture or sound, which are counted as shown; undefined: there is no such challenge, or it was shown too often. */
  load(token: string, what: 'picture' | 'sound', now: number): Loaded | undefined {
    const named = parseToken(token);
    if (named === undefined || !this.find(token, now)) return undefined;
    const load = { ...named, now, what, text: '', seed: 0 };
    if (this.records.update(named.key + named.place, countLoad, load) !== 'stored') return undefined;
    return this.records.update(named.key, countOfMinute, now) === 'stored' ? load : undefined;
  }

  /** Checks a solution: it is valid once, and each wrong one counts. */
  solve(token: string, solution: Solution, now: number): Verdict {
    const named = parseToken(token);
    const challenge = this.find(token, now);
    if (named === undefined || challenge === undefined) return 'gone';
    const isWorked = challenge.mode !== 'image' && solution.work !== '' && isWorkDone(challenge.salt, challenge.difficulty, solution.work);
    const check = { ...named, now, solution, isWorked, isPictured: challenge.mode !== 'pow', verdict: 'gone' as Verdict };
    this.records.update(named.key + named.place, judge, check);
    return check.verdict;
  }
}

interface Named {
  readonly key: string;
  readonly place: string;
  readonly id: string;
}

function parseToken(token: string): Named | undefined {
  if (!TOKEN_FORM.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url').toString('latin1');
  if (bytes.length !== TOKEN) return undefined;
  return { key: bytes.slice(0, DIGEST), place: bytes.charAt(DIGEST), id: bytes.slice(DIGEST + 1) };
}

function shown(key: string, place: string, fields: Omit<ChallengeFields, 'issued' | 'guesses' | 'loads'>, guessesLeft: number): Challenge {
  const { id, zone, difficulty, expire } = fields;
  const token = Buffer.from(key + place + id, 'latin1').toString('base64url');
  const salt = Buffer.from(id, 'latin1').toString('base64url');
  return { token, salt, key, zone, difficulty, expire, mode: MODES[fields.mode] ?? 'image', guessesLeft };
}

/** An id is as long as a token has room for: the empty one of a solved challenge equals none. */
const isWaiting = (fields: ChallengeFields, id: string, now: number): boolean =>
  fields.id === id && fields.guesses < GUESSES && now - fields.issued < LIFETIME;

type Made = Omit<ChallengeFields, 'issued' | 'guesses' | 'loads'> & { readonly now: number };

function renew(fields: ChallengeFields, { now, ...made }: Made): boolean {
  Object.assign(fields, made);
  fields.issued = now;
  fields.guesses = 0;
  fields.loads = 0;
  return true;
}

interface Load extends Named, Loaded {
  readonly now: number;
  readonly what: 'picture' | 'sound';
  text: string;
  seed: number;
}

function countLoad(fields: ChallengeFields, load: Load): boolean {
  if (!isWaiting(fields, load.id, load.now) || fields.loads >= LOADS) return false;
  fields.loads++;
  load.text = fields[load.what];
  load.seed = fields.seed;
  return true;
}

/** The record of a key itself has the number of challenges in `issued`, a minute in `difficulty`, and the pictures and sounds of that minute in `loads`. */
function countOfMinute(fields: ChallengeFields, now: number): boolean {
  const minute = Math.floor(now / MINUTE);
  if (fields.difficulty !== minute) fields.loads = 0;
  if (fields.loads >= LOADS_A_MINUTE) return false;
  fields.difficulty = minute;
  fields.loads++;
  return true;
}

interface Check extends Named {
  readonly now: number;
  readonly solution: Solution;
  readonly isWorked: boolean;
  readonly isPictured: boolean;
  verdict: Verdict;
}

function judge(fields: ChallengeFields, check: Check): boolean {
  const { solution, isWorked, isPictured } = check;
  check.verdict = 'gone';
  if (!isWaiting(fields, check.id, check.now) || solution.page !== fields.page) return false;
  const isRead = isPictured && solution.text !== '' && (solution.text === fields.picture || solution.text === fields.sound);
  if (isWorked || isRead) {
    check.verdict = 'right';
    fields.id = '';
    return true;
  }
  fields.guesses++;
  check.verdict = fields.guesses < GUESSES ? 'wrong' : 'spent';
  return true;
}

function randomText(): string {
  return Array.from({ length: PICTURE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function randomCounts(): string {
  return Array.from({ length: SOUND_GROUPS }, () => String(randomInt(1, SOUNDS + 1))).join('');
}
