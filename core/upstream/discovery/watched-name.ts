import type { Resolution } from '../../net/dns/resolution.js';
import { notResolved } from '../../net/dns/resolve-error.js';
import type { Log } from '../../contract/log.js';
import { NameWatch, type WatchOptions } from './name-watch.js';

/** Work that is to be done later. */
export interface ScheduledLookup {
  cancel(): void;
}

/** Tools for watching names. */
export interface Watching {
  readonly log: Pick<Log, 'write'>;
  /** Milliseconds of a clock that is never set. */
  now(): number;
  /** [0, 1) */
  random(): number;
  schedule(ms: number, work: () => void): ScheduledLookup;
}

/** Something that follows the records of a name. */
export interface NameFollower {
  /** A lookup has ended. */
  replied(): void;
}

/** One name that is looked up repeatedly, for as long as it has followers. */
export class WatchedName<R> {
  readonly #watch: NameWatch<R>;
  readonly #followers = new Set<NameFollower>();
  #scheduled: ScheduledLookup | undefined;
  #ended = false;

  /**
   * @param title for the log
   * @param lookup asks the name servers, whatever is cached
   */
  constructor(
    private readonly title: string,
    private readonly lookup: () => Promise<Resolution<R>>,
    private readonly watching: Watching,
    options: Pick<WatchOptions<R>, 'grace' | 'familyOf'>,
  ) {
    this.#watch = new NameWatch({ ...options, random: () => watching.random() });
    void this.#ask();
  }

  get records(): readonly R[] {
    return this.#watch.records;
  }

  /** See {@link NameWatch.settled}. */
  get settled(): boolean {
    return this.#watch.settled;
  }

  /** See {@link NameWatch.known}. */
  get known(): boolean {
    return this.#watch.known;
  }

  /** See {@link NameWatch.knows}. */
  knows(family: 4 | 6): boolean {
    return this.#watch.knows(family);
  }

  follow(follower: NameFollower): void {
    this.#followers.add(follower);
  }

  /** @returns true if it has no followers any more: it has ended then */
  leave(follower: NameFollower): boolean {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.end();
    return this.#ended;
  }

  end(): void {
    this.#ended = true;
    this.#scheduled?.cancel();
  }

  async #ask(): Promise<void> {
    const { watching } = this;
    const reply = await this.lookup();
    if (this.#ended) return;
    const before = this.#watch.error;
    this.#watch.take(reply, watching.now());
    this.#report(before);
    this.#scheduled = watching.schedule(this.#watch.delay, () => void this.#ask());
    for (const follower of this.#followers) follower.replied();
  }

  /** Once for each reason, not for each lookup. */
  #report(before: string | undefined): void {
    const { error } = this.#watch;
    if (error === before) return;
    const { log } = this.watching;
    if (error === undefined) return log.write('notice', `${this.title} is resolved again`);
    log.write('error', `${notResolved(this.title, error)}${effectOf(this.#watch)}`);
  }
}

function effectOf({ records, missing }: Pick<NameWatch<unknown>, 'records' | 'missing'>): string {
  if (missing !== undefined) return `: no IPv${missing} addresses, which "ipv${missing}=off" does not ask for`;
  return records.length > 0 ? ', its last addresses stay in use' : '';
}
