import type { CheckedUpstream, HealthChecker } from '../../core/module/health.js';
import type { EngineName } from '../../core/module/spec.js';
import type { HealthSettings } from './check-settings.js';
import { UpstreamChecker, type CheckerContext, type KnownStates } from './upstream-checker.js';

const NOTHING_KNOWN: KnownStates = new Map();

/** The checkers of all upstreams. */
export class Checkers {
  /**
   * By engine, and name in lower case: as in nginx, names have no case. While an upstream moves to another zone, or that is tried, there are two of a
   * name, the newer one last.
   */
  readonly #byName = new Map<string, UpstreamChecker[]>();

  constructor(private readonly context: CheckerContext) {}

  /** @param former the checker of the very same upstream; without one it is new, or has moved to another zone */
  create(engine: EngineName, upstream: CheckedUpstream, former: HealthChecker | undefined, settings: HealthSettings): HealthChecker {
    if (former instanceof UpstreamChecker) {
      former.configure(settings);
      return former;
    }
    const name = `${engine} ${upstream.name.toLowerCase()}`;
    const others = this.#byName.get(name) ?? [];
    const known = others.at(-1)?.states ?? NOTHING_KNOWN;
    const checker = new UpstreamChecker(upstream, settings, this.context, known, () => this.#remove(name, checker));
    this.#byName.set(name, [...others, checker]);
    return checker;
  }

  #remove(name: string, checker: UpstreamChecker): void {
    const others = this.#byName.get(name)?.filter((one) => one !== checker) ?? [];
    if (others.length === 0) this.#byName.delete(name);
    else this.#byName.set(name, others);
  }
}
