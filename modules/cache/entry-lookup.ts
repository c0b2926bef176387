import type { HttpRequest } from '../../core/contract/http.js';
import type { Log } from '../../core/contract/log.js';
import { systemErrorText } from '../../core/contract/system-error.js';
import type { IndexRecord } from './cache-index.js';
import type { CacheZone } from './cache-zone.js';
import type { EntryFile, StoredHead } from './entry-file.js';
import { digest, variantOf } from './entry-names.js';
import { findPlace, ownPlace, type EntryPlace } from './query-alias.js';
import type { CachingRules } from './rules.js';

/** The stored response for a request: that for its key, and for the fields that Vary names. */
export class EntryLookup {
  /** The file for the key, and the name of the one that the response is in: another one for a variant. */
  place: EntryPlace;
  variantName: string;
  /** See {@link StoredHead.seed}; empty: there is no file of the key. */
  seed = '';
  /** The response that is fresh, or stale: open until it is sent or not needed. */
  file: EntryFile | undefined = undefined;
  /** For variables, also when the file is closed. */
  stored: StoredHead | undefined = undefined;
  /** The file of the key has the response for other fields of requests. */
  isOtherVariant = false;
  #isOver = false;
  /** Of the files that were looked for. */
  #stamp = 0;
  #variantStamp = 0;

  constructor(
    readonly request: HttpRequest,
    readonly rules: CachingRules,
    readonly zone: CacheZone,
    readonly key: string,
    readonly log: Log,
  ) {
    this.place = ownPlace(key, zone.digests.of(key));
    this.variantName = this.place.name;
  }

  get name(): string {
    return this.place.name;
  }

  /** The query may count only in part (No-Vary-Search). */
  async findPlace(): Promise<void> {
    try {
      this.place = (await findPlace(this.zone, this.key, this.request.args)) ?? this.place;
    } catch (error) {
      this.#logFailure(error);
    }
  }

  /** As {@link open}, if the response is in memory. @returns false if it is not, or varies otherwise */
  openKept(now: number): boolean {
    const { zone, name } = this;
    const kept = zone.openKept(name, this.place.key, now);
    if (kept === undefined) return false;
    const variant = variantOf(kept.stored.vary, this.request, this.rules);
    this.seed = kept.stored.seed;
    this.isOtherVariant = kept.stored.variant !== variant;
    this.variantName = this.isOtherVariant ? this.nameOf(variant) : name;
    const file = this.isOtherVariant ? zone.openKept(this.variantName, this.place.key, now) : kept;
    if (file?.stored.variant !== variant) return false;
    this.#adopt(file);
    return true;
  }

  /**
   * The stored response for the key, and of a response that varies the one for the fields of the request. A promise only where a file is waited for.
   * @param known about the key
   */
  open(known?: IndexRecord): Promise<void> | undefined {
    this.isOtherVariant = false;
    this.variantName = this.name;
    this.#stamp = known?.stamp ?? this.zone.index.stampOf(this.name);
    try {
      const file = this.zone.open(this.name, this.place.key, known);
      const rest = file instanceof Promise ? file.then((found) => this.#found(found)) : this.#found(file);
      return rest?.catch((error: unknown) => this.#failed(error));
    } catch (error) {
      this.#failed(error);
      return undefined;
    }
  }

  /** The file for the key. */
  #found(file: EntryFile | undefined): Promise<void> | undefined {
    this.seed = file?.stored.seed ?? '';
    if (file !== undefined) {
      const variant = variantOf(file.stored.vary, this.request, this.rules);
      if (file.stored.variant !== variant) {
        file.close();
        return this.#openVariant(variant);
      }
    }
    this.#adopt(file);
    return undefined;
  }

  /** The response for the fields of the request beside one that is being stored for others. */
  openBeside({ vary, seed }: Pick<StoredHead, 'vary' | 'seed'>): Promise<void> {
    this.seed = seed;
    return this.#openVariant(variantOf(vary, this.request, this.rules)).catch((error: unknown) => this.#failed(error));
  }

  /** Another response was stored since. */
  get isOutdated(): boolean {
    const { zone, name, variantName } = this;
    if (zone.index.stampOf(name) !== this.#stamp) return true;
    return variantName !== name && zone.index.stampOf(variantName) !== this.#variantStamp;
  }

  async #openVariant(variant: string): Promise<void> {
    this.variantName = this.nameOf(variant);
    this.isOtherVariant = true;
    this.#variantStamp = this.zone.index.stampOf(this.variantName);
    const file = await this.zone.open(this.variantName, this.place.key);
    const isIt = file?.stored.variant === variant;
    if (!isIt) file?.close();
    this.#adopt(isIt ? file : undefined);
  }

  #adopt(file: EntryFile | undefined): void {
    this.file = file;
    this.stored = file?.stored;
    // The client has left meanwhile.
    if (this.#isOver) this.close();
  }

  /** Of the file for another variant than that in the file of the key. */
  nameOf(variant: string): string {
    return digest(`${this.place.key}\n${this.seed}\n${variant}`);
  }

  /** The open file, which is the caller's then. */
  take(): EntryFile | undefined {
    const { file } = this;
    this.file = undefined;
    return file;
  }

  close(): void {
    this.file?.close();
    this.file = undefined;
  }

  /** The request is over: what is opened after that is closed at once. */
  leave(): void {
    this.#isOver = true;
    this.close();
  }

  #failed(error: unknown): void {
    this.#logFailure(error);
    this.#adopt(undefined);
  }

  #logFailure(error: unknown): void {
    this.log.write('crit', `cache "${this.zone.name}" cannot be read (${systemErrorText(error)})`, this.request);
  }
}
