import type { HttpRequest } from '../../core/contract/http.js';
import { ArrivalState, type Arrival } from './arrivals.js';
import type { ArrivingFile } from './arriving-file.js';
import type { CacheZone } from './cache-zone.js';
import type { CacheConf } from './directives.js';

type LockConf = Pick<CacheConf, 'cache_lock_timeout' | 'cache_lock_age' | 'cache_lock_streaming'>;

/** First pause of a request that finds a lock and no fetch announced yet, in milliseconds; the next ones are longer. */
const FIRST_PAUSE = 4;

/** One request fetches what is not stored, and the others wait for it, over all workers (`proxy_cache_lock`). This is the lock for one of them. */
export class FetchLock {
  /** The fetch as other requests see it; undefined: it is not announced. */
  arrival: Arrival | undefined = undefined;
  /** Name of the file of the key, or of a variant. */
  #file: string;
  /** See {@link CacheZone.lockName}. */
  #base: string;
  /** Name of the lock: the one above, or after a fetch under it that was purged by tag another one. */
  #name: string;
  #isHeld = false;
  #limit = 1;
  #pause = FIRST_PAUSE;
  #follows: boolean;
  readonly #deadline: number;

  constructor(
    private readonly zone: CacheZone,
    private readonly request: HttpRequest,
    private readonly conf: LockConf,
    private readonly keyName: string,
    private readonly key: string,
  ) {
    this.#file = keyName;
    this.#base = this.#name = zone.lockName(keyName, keyName, key);
    this.#follows = conf.cache_lock_streaming;
    this.#deadline = performance.now() + conf.cache_lock_timeout;
  }

  /** True for the request that fetches. */
  acquire(): boolean {
    const { zone, conf } = this;
    const base = zone.lockName(this.#file, this.keyName, this.key);
    if (base !== this.#base) this.#turnTo((this.#base = base));
    this.#isHeld = zone.holds.acquire(this.#name, this.#limit) === 'held';
    if (this.#isHeld && conf.cache_lock_streaming) this.arrival = zone.arrivals.begin(this.#name);
    return this.#isHeld;
  }

  get #left(): number {
    return this.#deadline - performance.now();
  }

  /** It has been waited for too long. */
  get isOver(): boolean {
    return this.#left <= 0;
  }

  /**
   * Waits until the request that fetches is done, or its response comes. `declined`: that is not stored. Undefined: it may be stored now.
   * @throws (rejects) Error of the system
   */
  async wait(): Promise<ArrivingFile | 'declined' | undefined> {
    const { zone, request, conf } = this;
    const name = this.#name;
    const seen = this.#follows ? zone.arrivals.find(name) : undefined;
    if (seen?.state === ArrivalState.Arriving) {
      this.#follows = false;
      const found = await zone.openArriving(this.keyName, seen, { arrivals: zone.arrivals, name, turn: seen.turn }, request.signal);
      if (found !== 'purged') return found;
      this.#turnTo(`${name}.${seen.turn}`);
      return undefined;
    }
    const [left, age] = [this.#left, conf.cache_lock_age];
    let most = Math.min(left, age);
    if (this.#follows && seen === undefined) {
      most = Math.min(most, this.#pause);
      this.#pause *= 2;
    }
    const isBelow =
      seen === undefined
        ? await zone.holds.whenBelow(name, this.#limit, most, request.signal)
        : await zone.arrivals.news(name, seen.turn, seen.step, most, request.signal);
    // After its age the request that all wait for is given up.
    if (!isBelow && most >= age && age < left) this.#limit++;
    return seen !== undefined && zone.arrivals.wasDeclined(name, seen.turn) ? 'declined' : undefined;
  }

  /** Waits for the fetch of something else: a variant. */
  turnTo(file: string): void {
    this.#file = file;
  }

  #turnTo(name: string): void {
    this.#name = name;
    this.#limit = 1;
    this.#pause = FIRST_PAUSE;
    this.#follows = this.conf.cache_lock_streaming;
  }

  /** The response is not stored: waiting requests do not wait until it is sent. */
  decline(): void {
    if (this.arrival !== undefined) this.zone.arrivals.decline(this.arrival);
    this.arrival = undefined;
    this.release();
  }

  release(): void {
    this.arrival?.over();
    this.arrival?.forget();
    this.arrival = undefined;
    if (this.#isHeld) this.zone.holds.release(this.#name);
    this.#isHeld = false;
  }
}
