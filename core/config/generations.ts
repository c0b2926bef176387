import type { Resource } from '../contract/resource.js';

/** The requests, or sessions, that began under one configuration. */
export class Generation {
  requests = 0;

  constructor(
    readonly number: number,
    private readonly onEmpty: () => void,
  ) {}

  leave(): void {
    if (--this.requests === 0) this.onEmpty();
  }
}

interface Retired {
  readonly resource: Resource;
  /** Generations that may still use them. */
  readonly users: readonly Generation[];
}

function isUnused({ users }: Retired): boolean {
  return users.every(({ requests }) => requests === 0);
}

/** Releases what a configuration held open when the last request that may use it is over. */
export class Generations {
  /** One for all: a function made in {@link begin} would hold what is local there, and so all generations before. */
  readonly #onEmpty = (): void => this.#releaseUnused();
  #current = new Generation(0, this.#onEmpty);
  /** With requests under way, and the current one. */
  #live: Generation[] = [this.#current];
  #retired: Retired[] = [];
  /** The generation in which a resource took effect. */
  readonly #since = new WeakMap<Resource, number>();

  /** A request begins. {@link Generation.leave} has to follow. */
  enter(): Generation {
    this.#current.requests++;
    return this.#current;
  }

  /** A configuration is active from now on, with these resources of its own. */
  begin(resources: readonly Resource[], retired: readonly Resource[]): void {
    const before = this.#current;
    this.#current = new Generation(before.number + 1, this.#onEmpty);
    for (const resource of resources) {
      this.#since.set(resource, this.#current.number);
      resource.commit?.();
    }
    this.#live = [...this.#live.filter(({ requests }) => requests > 0), this.#current];
    for (const resource of retired) {
      resource.retire?.();
      const since = this.#since.get(resource) ?? 0;
      const users = this.#live.filter(({ number }) => number >= since && number <= before.number);
      this.#retired.push({ resource, users });
    }
    this.#releaseUnused();
  }

  /** Calls `step` when the requests are over that began before the last {@link begin}; at once if there are none. */
  whenOver(step: () => void): void {
    const users = this.#live.filter((generation) => generation !== this.#current);
    this.#retired.push({ resource: { release: step }, users });
    this.#releaseUnused();
  }

  /** Releases everything: no requests are served any more. */
  stop(resources: Iterable<Resource>): void {
    const retired = this.#retired.map(({ resource }) => resource);
    this.#retired = [];
    for (const resource of resources) resource.retire?.();
    for (const resource of [...retired, ...resources]) resource.release?.();
  }

  #releaseUnused(): void {
    if (this.#retired.length === 0) return;
    const unused = this.#retired.filter(isUnused);
    this.#retired = this.#retired.filter((retired) => !isUnused(retired));
    for (const { resource } of unused) resource.release?.();
  }
}
