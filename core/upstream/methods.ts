import { inspect } from 'node:util';
import { ConfReader, ownDirectives } from '../config/conf.js';
import { errorAt, type ConfigError } from '../config/errors.js';
import type { Change } from '../config/change.js';
import type { BalancingMethod } from '../contract/balancer.js';
import type { HttpModule } from '../contract/manifest.js';
import type { Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ChosenMethod } from './balancer.js';
import { HealthPlans } from './health-plans.js';
import type { ChosenAffinity } from './member-bindings.js';
import type { UpstreamEngine } from './upstream-engine.js';
import { called, scopeOf } from './upstream-scope.js';
import { isOrder, ORDERS } from './method-order.js';

type Hooks = Pick<HttpModule, 'balancer' | 'affinity'>;

/** A module that may give the method of an upstream. */
interface MethodModule {
  readonly name: string;
  readonly hooks: Hooks;
  /** Names of its directives that may be in an `upstream` block. */
  readonly names: readonly string[];
  readonly reader: ConfReader<Directives>;
}

/** A method, and the last line that it follows from. */
interface FoundMethod {
  readonly line: Directive;
  readonly method: ChosenMethod;
}

/** The balancing methods and the health checks that the modules of a configuration have. Made once for each set of modules. */
export class Methods {
  readonly health: HealthPlans;
  readonly #modules: readonly MethodModule[];

  constructor(
    readonly modules: Change['modules'],
    private readonly engine: UpstreamEngine,
  ) {
    this.health = new HealthPlans(modules, engine);
    this.#modules = Array.from(modules).flatMap(({ name, hooks, declaration }) => {
      const directives = declaration.manifest.directives ?? {};
      const names = Object.entries(directives).flatMap(([key, spec]) => (spec.in.includes(engine.context) ? [spec.name ?? key] : []));
      return hooks.balancer === undefined && hooks.affinity === undefined
        ? []
        : [{ name, hooks, names, reader: new ConfReader(directives) }];
    });
  }

  /** The lines of a block that its method follows from. */
  linesOf(block: Directive): readonly Directive[] {
    return this.#modules.flatMap(({ names }) => names.flatMap((name) => ownDirectives(block.block!, name)));
  }

  /** The method of a block; undefined: round robin. @throws ConfigError */
  of(block: Directive, warn: Change['warn']): ChosenMethod | undefined {
    const lines = this.linesOf(block);
    if (lines.length === 0) return undefined;
    const method = this.#balancerOf(block, lines, warn);
    const [affinity, other] = this.#modules.flatMap((module) => this.#askAffinity(module, block, lines));
    if (affinity !== undefined && other !== undefined) throw this.#duplicateOf(block, [affinity.module, other.module]);
    return affinity === undefined ? method : { order: 'turns', module: affinity.module, lines, ...method, affinity };
  }

  /** One client cannot be bound in two ways. */
  #duplicateOf(block: Directive, modules: readonly string[]): ConfigError {
    const names = new Set(this.#modules.flatMap((module) => (modules.includes(module.name) ? module.names : [])));
    const lines = [...block.block!].filter(({ name }) => names.has(name));
    const last = lines.at(-1)!;
    return errorAt(last, `"${last.name}" directive is duplicate`, undefined, `"${lines[0]!.name}" binds clients to servers already`);
  }

  #balancerOf(block: Directive, lines: readonly Directive[], warn: Change['warn']): ChosenMethod | undefined {
    const found = this.#modules.flatMap((module) => this.#ask(module, block, lines));
    if (found.length < 2) return found[0]?.method;
    const order = [...block.block!];
    const { line, method } = found.reduce((one, other) => (order.indexOf(other.line) > order.indexOf(one.line) ? other : one));
    const place = line.source === undefined ? '' : ` in ${line.source.file}:${line.source.line}`;
    warn(`load balancing method redefined in upstream "${block.args[0]?.text ?? ''}"${place}`);
    return method;
  }

  #ask({ name, hooks, names, reader }: MethodModule, block: Directive, lines: readonly Directive[]): FoundMethod[] {
    const line = lines.findLast((candidate) => names.includes(candidate.name));
    if (line === undefined) return [];
    const scope = scopeOf(block, reader, this.modules, this.engine);
    const method = called('balancer', name, scope, () => {
      const given = hooks.balancer?.(scope) ?? undefined;
      assertMethod(given);
      return given;
    });
    return method === undefined ? [] : [{ line, method: { ...method, module: name, lines } }];
  }

  #askAffinity({ name, hooks, names, reader }: MethodModule, block: Directive, lines: readonly Directive[]): ChosenAffinity[] {
    if (hooks.affinity === undefined || !lines.some((line) => names.includes(line.name))) return [];
    const scope = scopeOf(block, reader, this.modules, this.engine);
    const affinity = called('affinity', name, scope, () => hooks.affinity?.(scope) ?? undefined);
    return affinity === undefined ? [] : [{ ...affinity, module: name }];
  }
}

/** The types of a module written in JavaScript are not checked. */
function assertMethod(method: unknown): void {
  if (method === undefined) return;
  const { create, order } = method as Partial<BalancingMethod>;
  if (order !== undefined && !isOrder(order)) throw new TypeError(`its order must be one of ${ORDERS.join(', ')}, not ${inspect(order)}`);
  if (typeof create === 'function' || (create === undefined && order !== undefined)) return;
  throw new TypeError(`it must return { create } or { order }, not ${inspect(method, { depth: 0 })}`);
}

/** True if the method is the same: it follows from the very same lines. */
export function isSameMethod(one: ChosenMethod | undefined, lines: readonly Directive[]): boolean {
  const before = one?.lines ?? [];
  return before.length === lines.length && before.every((line, at) => line === lines[at]);
}
