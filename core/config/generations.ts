import type { Resource } from '../module/resource.js';

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
  #current = new Generation(0, () => this.#releaseUnused());
  /** With requests under way, and the current one. */
  #live: Generation[] = [this.#current];
  #retired: Retired[] = [];
  /** The generation in which a resource came into force. */
  readonly #since = new WeakMap<Resource, number>();

  /** A request begins. {@link Generation.leave} has to follow. */
  enter(): Generation {
    this.#current.requests++;
    return this.#current;
  }

  /** A configuration is in force from now on, with these resources of its own. */
  begin(resources: readonly Resource[], retired: readonly Resource[]): void {
    const before = this.#current;
    this.#current = new Generation(before.number + 1, () => this.#releaseUnused());
    for (const resource of resources) {
      this.#since.set(resource, this.#current.number);
      resource.commit?.();
    }
    this.#live = [...this.#live.filter(({ requests }) => requests > 0), this.#current];
    for (const resource of retired) {
      const since = this.#since.get(resource) ?? 0;
      const users = this.#live.filter(({ number }) => number >= since && number <= before.number);
      this.#retired.push({ resource, users });
    }
    this.#releaseUnused();
  }

  /** Releases everything: nobody serves requests any more. */
  stop(resources: Iterable<Resource>): void {
    const retired = this.#retired.map(({ resource }) => resource);
    this.#retired = [];
    for (const resource of [...retired, ...resources]) resource.release?.();
  }

  #releaseUnused(): void {
    if (this.#retired.length === 0) return;
    const unused = this.#retired.filter(isUnused);
    this.#retired = this.#retired.filter((retired) => !isUnused(retired));
    for (const { resource } of unused) resource.release?.();
  }
}
