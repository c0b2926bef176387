import type { CheckedUpstream, HealthChecker } from '../../core/contract/health.js';
import type { Resource } from '../../core/contract/resource.js';
import type { EngineName } from '../../core/contract/spec.js';
import type { CheckSettings, HealthSettings } from './check-settings.js';
import { UpstreamChecker, type CheckerContext, type KnownStates } from './upstream-checker.js';

/** A check that a location brings. */
export interface LocatedCheck {
  readonly check: CheckSettings;
  readonly isMandatory: boolean;
  readonly isPersistent: boolean;
}

/** A checker, and what the block of its upstream says. */
interface Checked {
  readonly checker: UpstreamChecker;
  own: HealthSettings;
}

const NOTHING_KNOWN: KnownStates = new Map();
const keyOf = (engine: EngineName, name: string): string => `${engine} ${name.toLowerCase()}`;

/** The checkers of all upstreams. */
export class Checkers {
  /**
   * By engine, and name in lower case: as in nginx, names have no case. While an upstream moves to another zone, or that is tried, there are
   * two of a name, the newer one last.
   */
  readonly #byName = new Map<string, Checked[]>();
  readonly #located = new Map<string, Set<LocatedCheck>>();

  constructor(private readonly context: CheckerContext) {}

  /** @param former the checker of the very same upstream; without one it is new, or has moved to another zone */
  create(engine: EngineName, upstream: CheckedUpstream, former: HealthChecker | undefined, own: HealthSettings): HealthChecker {
    const key = keyOf(engine, upstream.name);
    const others = this.#byName.get(key) ?? [];
    const same = others.find(({ checker }) => checker === former);
    if (same !== undefined) {
      same.own = own;
      same.checker.configure(this.#all(key, own));
      return same.checker;
    }
    const known = others.at(-1)?.checker.states ?? NOTHING_KNOWN;
    const checker = new UpstreamChecker(upstream, this.#all(key, own), this.context, known, () => this.#remove(key, checker));
    this.#byName.set(key, [...others, { checker, own }]);
    return checker;
  }

  /** A location has a check of an upstream, as long as it is active. */
  locate(name: string, located: LocatedCheck): Resource {
    const key = keyOf('http', name);
    const set = (isThere: boolean): void => {
      const all = this.#located.get(key) ?? new Set();
      if (all.has(located) === isThere) return;
      if (isThere) this.#located.set(key, all.add(located));
      else all.delete(located);
      if (all.size === 0) this.#located.delete(key);
      for (const { checker, own } of this.#byName.get(key) ?? []) checker.configure(this.#all(key, own));
    };
    // An upstream that comes with the same change has to know of it before its first request.
    if (this.#byName.get(key)?.some(({ checker }) => !checker.isStarted) === true) set(true);
    return { commit: () => set(true), abort: () => set(false), release: () => set(false) };
  }

  /** With the checks of locations; of two versions of one location, the later. */
  #all(key: string, own: HealthSettings): HealthSettings {
    const located = [...(this.#located.get(key) ?? [])];
    if (located.length === 0) return own;
    const checks = new Map(located.map(({ check }) => [check.name, check]));
    return {
      checks: [...own.checks, ...checks.values()],
      isMandatory: own.isMandatory || located.some(({ isMandatory }) => isMandatory),
      isPersistent: own.isPersistent || located.some(({ isPersistent }) => isPersistent),
    };
  }

  #remove(key: string, checker: UpstreamChecker): void {
    const others = this.#byName.get(key)?.filter((one) => one.checker !== checker) ?? [];
    if (others.length === 0) this.#byName.delete(key);
    else this.#byName.set(key, others);
  }
}
