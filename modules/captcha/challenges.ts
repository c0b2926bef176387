import { randomBytes } from 'node:crypto';
import type { RecordFields, Records } from '../../core/contract/zones.js';
import { DIGEST, pictureText, seal, soundCounts, unseal, workSalt, type Claims, type Mode } from './sealed-challenge.js';
import type { Means } from './pass-cookie.js';
import type { Secrets } from './secrets.js';
import { difficultyOf, isTooEasy, isWorkDone } from './work.js';

/**
 * Of a challenge: attempts, pictures and sounds, 1 after it was solved, its time if there was an attempt. Of a key: attempts, pictures and sounds of a
 * minute, and its work, of which each minute forgets a half.
 */
const FIELDS = ['attempts', 'loads', 'solved', 'minute', 'issued', 'worked'] as const;
type Field = (typeof FIELDS)[number];
type Uses = RecordFields<Field>;
export type UseRecords = Records<Field>;

/** Milliseconds that a challenge waits for its solution. */
const LIFETIME = 1_200_000;
/** Records of what clients have done with challenges. */
export const USE_RECORDS = { fields: FIELDS, ttl: LIFETIME, sync: { merge: keepLarger } } as const;

/** Attempts at one challenge, and pictures and sounds of it. */
const ATTEMPTS = 5;
const LOADS = 6;
/** The same of one key in a minute. Challenges cost nothing: without these limits a script guesses until it is right. */
const ATTEMPTS_A_MINUTE = 20;
const LOADS_A_MINUTE = 60;
const MINUTE = 60_000;

/** A challenge, as clients get it. */
export interface Challenge extends Claims {
  readonly token: string;
  /** Beginning of the texts that the work hashes. */
  readonly salt: string;
}

export interface Solution {
  /** Characters or counts; empty: none. */
  readonly text: string;
  /** Result of the work; empty: none. */
  readonly work: string;
  /** Digest of the request that the client wants to go back to. */
  readonly page: string;
}

/**
 * `gone`: no such challenge, or it was solved, has expired, or was about another page. `spent`: wrong for the last time. `wait`: the key has tried too
 * often in this minute. `harder`: the work was done, and is too easy by now.
 */
export type CaptchaVerdict = 'right' | 'wrong' | 'spent' | 'wait' | 'harder' | 'gone';

/** Result of a solution. */
export interface CaptchaJudgement {
  readonly verdict: CaptchaVerdict;
  /** Attempts that are left. */
  readonly left: number;
  readonly means: Means;
}

/** `auto`: beside work, which is no more difficult for a program; they are worth as much as work then. */
export type Sounds = 'auto' | 'on' | 'off';

/** Challenges, and what clients have done with them, over all workers. */
export class Challenges {
  constructor(
    private readonly records: UseRecords,
    private readonly secrets: () => Secrets,
    /** Epoch milliseconds: of challenges of this time or before there may have been attempts that are not in the records. */
    private readonly forgotten: () => number,
    private readonly sounds: Sounds,
  ) {}

  /** True if a challenge of that mode has sounds beside its picture. */
  hasSounds(mode: Mode): boolean {
    return mode !== 'pow' && (this.sounds === 'on' || (this.sounds === 'auto' && mode === 'auto'));
  }

  /** @param count requests of the key in the last second */
  issue(claims: Omit<Claims, 'seed' | 'difficulty'>, count: number): Challenge {
    const { issued } = claims;
    const sealed = { ...claims, difficulty: this.#difficultyOf(claims, count, issued), seed: randomBytes(DIGEST).toString('latin1') };
    return { ...sealed, token: seal(sealed, this.secrets()), salt: workSalt(sealed) };
  }

  /** Undefined: none, or it has expired. */
  find(token: string, now: number): Challenge | undefined {
    const claims = unseal(token, this.secrets());
    if (claims === undefined || now - claims.issued >= LIFETIME) return undefined;
    return { ...claims, token, salt: workSalt(claims) };
  }

  /** True if its picture or sound may be made, which is counted. */
  load({ seed, key }: Claims, now: number): boolean {
    const minute = Math.floor(now / MINUTE);
    if (this.records.update(seed, countLoad, { minute: 0, most: LOADS }) !== 'stored') return false;
    return this.records.update(key, countLoad, { minute, most: LOADS_A_MINUTE }) === 'stored';
  }

  /** Checks a solution: it is valid once, and each wrong one counts. @param count requests of the key in the last second */
  solve(challenge: Challenge, { text, work, page }: Solution, count: number, now: number): CaptchaJudgement {
    const { mode, salt, difficulty, key, seed, issued } = challenge;
    if (page !== challenge.page) return { verdict: 'gone', left: 0, means: 'work' };
    const isWorked = mode !== 'image' && work !== '' && isWorkDone(salt, difficulty, work);
    const minute = Math.floor(now / MINUTE);
    if (isWorked && isTooEasy(difficulty, this.#difficultyOf(challenge, count, now)))
      return { verdict: 'harder', left: ATTEMPTS, means: 'work' };
    if (!isWorked && this.records.update(key, countAttempt, minute) !== 'stored') return { verdict: 'wait', left: ATTEMPTS, means: 'work' };
    const isRead = mode !== 'pow' && text !== '' && text === pictureText(challenge);
    const isHeard = this.hasSounds(mode) && text !== '' && text === soundCounts(challenge);
    const attempt: Attempt = {
      isRight: isWorked || isRead || isHeard,
      verdict: 'gone',
      left: 0,
      means: isRead || (isHeard && this.sounds === 'on') ? 'read' : 'work',
      issued,
      isFirst: true,
    };
    this.records.update(seed, judge, attempt);
    // It may have been solved before.
    if (attempt.isFirst && issued <= this.forgotten()) return { ...attempt, verdict: 'gone', left: 0 };
    if (isWorked && attempt.verdict === 'right') this.records.update(key, countWork, minute);
    return attempt;
  }

  #difficultyOf({ key, rate }: Pick<Claims, 'key' | 'rate'>, count: number, now: number): number {
    const uses = this.records.get(key);
    if (uses === undefined) return difficultyOf(count, rate, 0);
    begin(uses, Math.floor(now / MINUTE));
    return difficultyOf(count, rate, uses.worked);
  }
}

interface Most {
  readonly minute: number;
  readonly most: number;
}

function countLoad(uses: Uses, { minute, most }: Most): boolean {
  begin(uses, minute);
  if (uses.loads >= most) return false;
  uses.loads++;
  return true;
}

function countAttempt(uses: Uses, minute: number): boolean {
  begin(uses, minute);
  if (uses.attempts >= ATTEMPTS_A_MINUTE) return false;
  uses.attempts++;
  return true;
}

function countWork(uses: Uses, minute: number): boolean {
  begin(uses, minute);
  uses.worked++;
  return true;
}

/** Joins the counts of two nodes: a challenge that one of them has accepted stays solved. */
function keepLarger(uses: Uses, other: Readonly<Uses>): void {
  if (other.minute < uses.minute) return;
  const isLater = other.minute > uses.minute;
  for (const name of FIELDS) uses[name] = isLater ? other[name] : Math.max(uses[name], other[name]);
}

function begin(uses: Uses, minute: number): void {
  if (uses.minute === minute) return;
  uses.worked = Math.floor(uses.worked / 2 ** Math.abs(minute - uses.minute));
  uses.minute = minute;
  uses.attempts = 0;
  uses.loads = 0;
}

interface Attempt extends CaptchaJudgement {
  readonly isRight: boolean;
  readonly issued: number;
  /** No other attempt is known. */
  isFirst: boolean;
  verdict: CaptchaVerdict;
  left: number;
}

function judge(uses: Uses, attempt: Attempt): boolean {
  attempt.verdict = 'gone';
  attempt.isFirst = uses.issued === 0;
  uses.issued = attempt.issued;
  if (uses.solved > 0 || uses.attempts >= ATTEMPTS) return false;
  if (attempt.isRight) {
    uses.solved = 1;
    attempt.verdict = 'right';
    return true;
  }
  uses.attempts++;
  attempt.left = ATTEMPTS - uses.attempts;
  attempt.verdict = attempt.left > 0 ? 'wrong' : 'spent';
  return true;
}
