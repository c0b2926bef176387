import { ConfReader } from '../config/conf.js';
import type { Change } from '../config/change.js';
import type { Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ChosenHealth } from './member-checks.js';
import type { UpstreamEngine } from './upstream-engine.js';
import { called, scopeOf } from './upstream-scope.js';
import { errorAt } from '../config/errors.js';

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
    const [plan, other] = this.#modules.flatMap(({ name, health, reader }): ChosenHealth[] => {
      const scope = scopeOf(block, reader, this.modules, this.engine);
      const given = called('health', name, scope, () => health(scope));
      return given === undefined ? [] : [{ module: name, create: (...args) => given.create(...args) }];
    });
    if (plan === undefined || other === undefined) return plan;
    const both = `"${plan.module}" and "${other.module}" both check the servers of upstream "${block.args[0]?.text ?? ''}"`;
    throw errorAt(block, both, undefined, 'an upstream has one health check: remove the directive of one of them');
  }
}
