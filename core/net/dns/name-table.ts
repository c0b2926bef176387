import { domainName } from './domain-name.js';
import type { FindOptions, Resolution } from './resolution.js';

/** Share of its time by which a name is forgotten early, by chance: names that were asked for together are not asked for again together. */
const JITTER = 0.1;

interface Known<R> {
  /** By the clock of the table. */
  readonly until: number;
  readonly resolution: Resolution<R>;
}

export interface NameTableOptions {
  /** Names that are remembered; the one that was not used for the longest time goes first. */
  readonly most: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Names with what was found out about them. Who asks for the same one at the same time waits for the same search. */
export class NameTable<R> {
  readonly #known = new Map<string, Known<R>>();
  readonly #searches = new Map<string, Promise<Resolution<R>>>();

  /** @param search does not reject */
  constructor(
    private readonly options: NameTableOptions,
    private readonly search: (name: string) => Promise<Resolution<R>>,
  ) {}

  known(text: string): Resolution<R> | undefined {
    const known = this.#known.get(text);
    if (known !== undefined) return this.#use(text, known);
    const name = domainName(text);
    if (name === undefined || name === text) return undefined;
    const other = this.#known.get(name);
    return other && this.#use(name, other);
  }

  find(text: string, { fresh = false }: FindOptions = {}): Promise<Resolution<R>> {
    const known = fresh ? undefined : this.known(text);
    if (known !== undefined) return Promise.resolve(known);
    const name = domainName(text);
    if (name === undefined) return Promise.resolve({ name: text, records: [], error: 'nxdomain', families: [], ttl: 1 });
    return this.#searches.get(name) ?? this.#begin(name);
  }

  #begin(name: string): Promise<Resolution<R>> {
    const search = this.search(name).then((resolution) => {
      this.#searches.delete(name);
      this.#remember(resolution);
      return resolution;
    });
    this.#searches.set(name, search);
    return search;
  }

  #remember(resolution: Resolution<R>): void {
    if (resolution.error === 'closed' || this.#isWorse(resolution)) return;
    const { name, ttl } = resolution;
    const { most, now, random } = this.options;
    this.#known.delete(name);
    this.#known.set(name, { until: now() + ttl * 1000 * (1 - JITTER * random()), resolution });
    if (this.#known.size > most) this.#known.delete(this.#known.keys().next().value ?? '');
  }

  /** A server has failed, and what is known of the name is still good. */
  #isWorse({ name, error }: Resolution<R>): boolean {
    if (error === undefined || error === 'nxdomain') return false;
    const known = this.known(name);
    return known !== undefined && known.error === undefined;
  }

  #use(name: string, known: Known<R>): Resolution<R> | undefined {
    this.#known.delete(name);
    if (known.until <= this.options.now()) return undefined;
    this.#known.set(name, known);
    return known.resolution;
  }
}
