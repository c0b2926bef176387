import type { Resolution } from '../../net/dns/resolution.js';
import type { ResolveErrorCode } from '../../net/dns/resolve-error.js';

/** Shortest and longest time until a name is looked up again. Milliseconds. */
const FLOOR = 1000;
const CAP = 3_600_000;
/** Longest time between two lookups while name servers fail. Milliseconds. */
const LONGEST_BACK_OFF = 30_000;
/** Part of a delay that is added at random, so that names that were looked up together are not forever. */
const JITTER = 0.1;
const BOTH = [4, 6] as const;

export interface WatchOptions<R> {
  /** How long the records of a name stay after it has ceased to exist (`nxdomain_grace`). Milliseconds. */
  readonly grace: number;
  /** The address family that a record belongs to; undefined: records have none. */
  readonly familyOf: (record: R) => 4 | 6 | undefined;
  /** [0, 1) */
  readonly random: () => number;
}

/**
 * Records of one name, and the time of its next lookup. Failures of name servers keep the last records; so does NXDOMAIN for the time of
 * grace. A reply without records is a reply: the name has none then.
 */
export class NameWatch<R> {
  records: readonly R[] = [];
  /** A first lookup has ended, with records or without. */
  settled = false;
  /** {@link records} are what the name has; false while no name server has said so. */
  known = false;
  /** Why the last lookup failed, or failed for one address family. */
  error: ResolveErrorCode | undefined = undefined;
  /** The address family that it failed for alone. */
  missing: 4 | 6 | undefined = undefined;
  /** Until the next lookup. Milliseconds. */
  delay = 0;
  /** Address families that a name server has ever replied about. */
  readonly #families = new Set<4 | 6>();
  /** Lookups in a row that name servers failed to reply to. */
  #failures = 0;
  /** Since when the name does not exist. */
  #missingSince: number | undefined = undefined;

  constructor(private readonly options: WatchOptions<R>) {}

  /** True if a name server has said what addresses of this family the name has, now or before. */
  knows(family: 4 | 6): boolean {
    return this.known && this.#families.has(family);
  }

  /** @param now milliseconds of a clock that is never set */
  take(reply: Resolution<R>, now: number): void {
    this.settled = true;
    this.error = reply.error;
    this.missing = undefined;
    for (const family of reply.error === undefined ? BOTH : reply.families) this.#families.add(family);
    if (reply.error === undefined) this.#found(reply.records, reply.ttl);
    else if (reply.records.length > 0) this.#foundPart(reply);
    else if (reply.error === 'nxdomain') this.#missing(reply.ttl, now);
    else this.#failed();
  }

  #found(records: readonly R[], ttl: number): void {
    this.records = records;
    this.known = true;
    this.#failures = 0;
    this.#missingSince = undefined;
    this.delay = this.#jittered(bounded(ttl * 1000));
  }

  /** One of the two address families could not be found: its last records stay. Some name servers fail for IPv6 whatever the name is. */
  #foundPart({ records, families, ttl }: Resolution<R>): void {
    const { familyOf } = this.options;
    const kept = this.records.filter((record) => {
      const family = familyOf(record);
      return family !== undefined && !families.includes(family);
    });
    this.#found([...records, ...kept], ttl);
    this.missing = families.includes(4) ? 6 : 4;
  }

  #missing(ttl: number, now: number): void {
    this.#failures = 0;
    this.#missingSince ??= now;
    const left = this.#missingSince + this.options.grace - now;
    const delay = this.#jittered(bounded(ttl * 1000));
    this.delay = left > 0 ? Math.min(delay, left) : delay;
    if (left > 0) return;
    for (const family of BOTH) this.#families.add(family);
    this.records = [];
    this.known = true;
  }

  #failed(): void {
    this.#failures++;
    this.delay = this.#jittered(Math.min(FLOOR * 2 ** (this.#failures - 1), LONGEST_BACK_OFF));
  }

  #jittered(delay: number): number {
    return delay * (1 + JITTER * this.options.random());
  }
}

const bounded = (delay: number): number => Math.min(Math.max(delay, FLOOR), CAP);
