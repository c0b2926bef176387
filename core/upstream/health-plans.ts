import { ConfReader } from '../config/conf.js';
import type { Change } from '../kernel/follower.js';
import type { Directives } from '../module/spec.js';
import type { Directive } from '../module/tree.js';
import type { ChosenHealth } from './member-checks.js';
import type { UpstreamEngine } from './upstream-engine.js';
import { called, scopeOf } from './upstream-scope.js';

/** How the modules of a configuration check the members of upstreams. */
export class HealthPlans {
  readonly #modules;

  constructor(
    private readonly modules: Change['modules'],
    private readonly engine: UpstreamEngine,
  ) {
    this.#modules = Array.from(modules).flatMap(({ name, hooks, declaration }) => {
      const { health } = hooks;
      return health === undefined ? [] : [{ name, health, reader: new ConfReader<Directives>(declaration.manifest.directives ?? {}) }];
    });
  }

  /** The plan for a block; undefined: its members are not checked. @throws ConfigError */
  of(block: Directive): ChosenHealth | undefined {
    for (const { name, health, reader } of this.#modules) {
      const scope = scopeOf(block, reader, this.modules, this.engine);
      const plan = called('health', name, scope, () => health(scope));
      if (plan !== undefined) return { module: name, create: (...given) => plan.create(...given) };
    }
    return undefined;
  }
}
