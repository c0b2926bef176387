import { ownDirective, readDirective } from '../config/conf.js';
import { errorAt, type ConfigErrors } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { RegisteredSpec, SpecRegistry } from '../config/registry.js';
import type { ZoneSize } from '../module/args.js';
import { engineOf, type AnyArgContext, type ArgType, type ContextName, type DirectiveSpec } from '../module/spec.js';
import type { Block, Directive } from '../module/tree.js';
import { Zones, type Holds, type RecordOptions, type Records } from '../module/zones.js';
import { ZoneHolds } from '../zone/holds.js';
import { ZoneRecords, type Now } from '../zone/records.js';
import type { Zone } from '../zone/zone.js';
import type { ZoneSet } from '../zone/zone-set.js';
import type { Change, Follower, Prepared } from './follower.js';
import { assertOtherNames, findSharedNames, otherUse } from './zone-names.js';

/** Contexts in which directives may declare zones. */
export const ZONE_CONTEXTS: readonly ContextName[] = ['main', 'http', 'upstream', 'stream', 'stream upstream'];

export interface ModuleZonesOptions {
  readonly zones: ZoneSet;
  readonly clock: Now;
  /** 0-based; -1: a thread that carries no traffic. */
  readonly worker: number;
  /** Workers that zones have places for. */
  readonly workers: number;
}

/** The zones that directives of modules declare: opened before modules compile, closed when no configuration has them. */
export class ModuleZones extends Zones implements Follower {
  #zones: ReadonlyMap<string, Zone> = new Map();
  /** The zones as they will be, while a change is being prepared. */
  #coming: ReadonlyMap<string, Zone> | undefined;
  /** Errors of the change that is being prepared: it has no zones, so whatever needs one fails with them. */
  #errors: ConfigErrors | undefined;
  #registry: SpecRegistry | undefined;
  #specs: readonly ZoneSpec[] = [];

  constructor(private readonly options: ModuleZonesOptions) {
    super();
  }

  records<F extends string, S extends string = never>(zone: ZoneSize, options: RecordOptions<F, S>): Records<F, S> {
    return ZoneRecords.open(this.#find(zone.name), options, this.options.clock) ?? tooSmall(zone.name);
  }

  holds(zone: ZoneSize): Holds {
    const { worker, workers } = this.options;
    return ZoneHolds.open(this.#find(zone.name), worker, workers) ?? tooSmall(zone.name);
  }

  prepare(change: Change): Prepared {
    this.#errors = undefined;
    const { registry } = change.modules;
    const specs = this.#specsOf(registry);
    if (registry === this.#registry && !specs.some((spec) => isTouched(change, spec))) {
      assertOtherNames(change, this.#zones);
      return NOTHING_TO_DO;
    }
    const zones = this.#open(change, specs);
    this.#coming = zones;
    return {
      commit: () => {
        const before = this.#zones;
        this.#zones = zones;
        this.#coming = undefined;
        this.#registry = registry;
        this.#specs = specs;
        this.#close(before);
      },
      abort: () => {
        this.#coming = undefined;
        this.#close(zones);
      },
    };
  }

  /** Releases what a worker held when it died. Master only, after `ZoneSet.releaseOf`. */
  dropWorker(worker: number): void {
    for (const zone of this.#zones.values()) ZoneHolds.find(zone, this.options.workers)?.dropWorker(worker);
  }

  #find(name: string): Zone {
    if (this.#errors !== undefined) throw this.#errors;
    const zone = (this.#coming ?? this.#zones).get(name);
    if (zone === undefined) throw new RangeError(`no directive declares zone "${name}"`);
    return zone;
  }

  #specsOf(registry: SpecRegistry): readonly ZoneSpec[] {
    return registry === this.#registry ? this.#specs : zoneSpecs(registry);
  }

  #open(change: Change, specs: readonly ZoneSpec[]): Map<string, Zone> {
    const declared = new Map<string, Declaration>();
    const errors = new ErrorCollector();
    for (const spec of specs) {
      for (const directive of directivesOf(change.after.root, spec)) {
        errors.attempt(() => {
          const declaration = declarationOf(directive, spec, change.modules.argsIn(spec.context));
          if (declaration === undefined) return;
          assertUnbound(declaration, declared.get(declaration.name));
          declared.set(declaration.name, declaration);
        });
      }
    }
    findSharedNames(change, new Map(Array.from(declared, ([name, { directive }]) => [name, directive])), errors);
    this.#errors = errors.toError();
    if (this.#errors !== undefined) throw this.#errors;
    const { zones } = this.options;
    return new Map(Array.from(declared, ([name, { directive, size, key }]) => [name, zones.open(name, size, directive.name, key)]));
  }

  #close(zones: ReadonlyMap<string, Zone>): void {
    for (const zone of zones.values()) this.options.zones.close(zone);
  }
}

const isInUpstream = (context: ContextName): boolean => context.endsWith('upstream');

/** A directive that declares a zone, in one context. */
interface ZoneSpec {
  readonly context: ContextName;
  readonly registered: RegisteredSpec;
  /** The argument with the zone, empty if it is the only one. */
  readonly field: string;
}

interface Declaration extends ZoneSize {
  readonly directive: Directive;
  readonly context: ContextName;
  /** Its positional arguments: with others it is another zone. */
  readonly key: string;
}

function zoneSpecs(registry: SpecRegistry): ZoneSpec[] {
  const specs: ZoneSpec[] = [];
  for (const context of ZONE_CONTEXTS) {
    for (const name of registry.namesIn(context)) {
      const registered = registry.find(context, name);
      const field = registered && zoneField(registered.spec);
      if (registered !== undefined && field !== undefined) specs.push({ context, registered, field });
    }
  }
  return specs;
}

/** The name of the argument that declares a zone. */
function zoneField({ args }: DirectiveSpec): string | undefined {
  if (args === undefined) return undefined;
  if (typeof args.parse === 'function') return isZone(args as ArgType<unknown>) ? '' : undefined;
  return Object.entries(args).find(([, type]) => isZone(type as ArgType<unknown>))?.[0];
}

const isZone = ({ kind, of }: ArgType<unknown>): boolean => kind === 'zone' || of?.kind === 'zone';

function* directivesOf(root: Block, { context, registered: { name } }: ZoneSpec): Generator<Directive> {
  if (context === 'main') yield* root.named(name);
  else for (const { block } of root.named(engineOf(context))) if (block !== undefined) yield* inEngine(block, context, name);
}

function* inEngine(engine: Block, context: ContextName, name: string): Generator<Directive> {
  if (!isInUpstream(context)) yield* engine.named(name);
  else for (const { block } of engine.named('upstream')) if (block !== undefined) yield* block.named(name);
}

/** Undefined: the directive goes without a zone. */
function declarationOf(directive: Directive, { context, registered, field }: ZoneSpec, args: AnyArgContext): Declaration | undefined {
  const value = readDirective(registered.signature, directive, args);
  const zone = (field === '' ? value : (value as Record<string, unknown>)[field]) as ZoneSize | undefined;
  if (zone === undefined) return undefined;
  const positional = directive.args.filter(({ text }) => registered.signature.keyed(text) === undefined);
  return { directive, context, ...zone, key: positional.map(({ text }) => text).join(' ') };
}

/** @throws ConfigError in nginx's words if the name is declared already */
function assertUnbound({ directive, context, name, size }: Declaration, other: Declaration | undefined): void {
  if (other === undefined) return;
  if (isInUpstream(context)) throw errorAt(directive, otherUse(name), undefined, `every "${directive.name}" needs a zone name of its own`);
  if (other.directive.name !== directive.name || other.context !== context) throw errorAt(directive, otherUse(name));
  if (other.size !== size)
    throw errorAt(directive, `the size ${size} of shared memory zone "${name}" conflicts with already declared size ${other.size}`);
  throw errorAt(
    directive,
    other.key === '' ? `duplicate zone "${name}"` : `${directive.name} "${name}" is already bound to key "${other.key}"`,
  );
}

/** Whether a change may bring, change or remove such a directive. */
function isTouched({ before, after, operations }: Change, { context, registered: { name } }: ZoneSpec): boolean {
  return operations.some((operation) => {
    if (operation.op === 'root') return true;
    const id = 'directive' in operation ? operation.directive.id : operation.id;
    return [before, after].some((tree) => {
      const directive = tree.byId(id);
      if (directive?.name === name || directive?.name === engineOf(context)) return true;
      return isInUpstream(context) && directive?.name === 'upstream' && hasOwn(directive, name);
    });
  });
}

const hasOwn = ({ block }: Directive, name: string): boolean => block !== undefined && ownDirective(block, name) !== undefined;

function tooSmall(name: string): never {
  throw new RangeError(`zone "${name}" is too small`);
}

const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };
