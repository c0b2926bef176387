import { ownDirective, readDirective } from '../config/conf.js';
import { errorAt, type ConfigErrors } from '../config/errors.js';
import { ErrorCollector } from '../config/error-collector.js';
import type { RegisteredSpec, SpecRegistry } from '../config/registry.js';
import type { ZoneSize } from '../contract/args.js';
import { engineOf, type AnyArgContext, type ArgType, type ContextName, type DirectiveSpec, type ZoneSync } from '../contract/spec.js';
import type { Block, Directive } from '../contract/tree.js';
import type { Copies, Zones, Holds, RecordOptions, Records } from '../contract/zones.js';
import type { FigureTable } from '../contract/figures.js';
import { SharedFigures } from '../zone/figures.js';
import { ZoneCopies } from '../zone/copies.js';
import { ZoneHolds } from '../zone/holds.js';
import { ZoneRecords, type Now } from '../zone/records.js';
import type { Zone } from '../zone/zone.js';
import type { ZoneSet } from '../zone/zone-set.js';
import type { CarriedState } from '../zone/carried-state.js';
import { carriedZones } from '../zone/carried-zones.js';
import type { Change, Follower, Prepared } from '../config/change.js';
import { INTERVAL, NOT_SYNCED, redisBlock, syncedZones, type ModuleZone, type SyncedZones } from './synced-zones.js';
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
export class ModuleZones implements Pick<Zones, 'records' | 'holds' | 'figures' | 'copies'>, Follower {
  #zones: ReadonlyMap<string, ModuleZone> = new Map();
  /** The zones as they will be, while a change is being prepared. */
  #coming: ReadonlyMap<string, ModuleZone> | undefined;
  /** Errors of the change that is being prepared: it has no zones, so whatever needs one fails with them. */
  #errors: ConfigErrors | undefined;
  #registry: SpecRegistry | undefined;
  #specs: readonly ZoneSpec[] = [];

  /** Memory of modules that no directive declares, by name and size. */
  readonly #own = new Map<string, OwnZone>();
  /** Rows that this thread holds, by their zone. */
  readonly #figures = new WeakMap<Zone, SharedFigures>();

  #synced: SyncedZones = NOT_SYNCED;
  /** Called when the zones that nodes share may be others. */
  onSynced: (() => void) | undefined;

  constructor(private readonly options: ModuleZonesOptions) {}

  /** The zones that nodes share. */
  get synced(): SyncedZones {
    return this.#synced;
  }

  /** Makes memory of a module, or uses it once more. A worker has it when the main thread has shared it: with the next change at the latest. */
  openOwn(zone: ZoneSize): void {
    const key = ownKey(zone);
    const known = this.#own.get(key) ?? { size: zone, uses: 0, zone: undefined };
    known.uses++;
    this.#own.set(key, known);
    if (known.zone !== undefined) this.options.zones.announce(known.zone);
    else if (this.options.worker < 0) this.#openedOwn(known);
  }

  closeOwn(zone: ZoneSize): void {
    const key = ownKey(zone);
    const known = this.#own.get(key);
    if (known === undefined || --known.uses > 0) return;
    this.#own.delete(key);
    if (known.zone !== undefined) this.options.zones.close(known.zone);
    else this.options.zones.forget(zone.name, zone.size, OWN_USE);
  }

  records<F extends string, S extends string = never>(zone: ZoneSize, options: RecordOptions<F, S>): Records<F, S> {
    const { zone: memory, sync } = this.#find(zone);
    return ZoneRecords.open(memory, options, this.options.clock, sync === 'sum' ? undefined : sync) ?? tooSmall(zone.name);
  }

  holds(zone: ZoneSize, expected?: number): Holds {
    const { worker, workers } = this.options;
    const { zone: memory, sync } = this.#find(zone);
    return ZoneHolds.open(memory, worker, workers, sync === 'sum', expected) ?? tooSmall(zone.name);
  }

  figures(zone: ZoneSize): FigureTable {
    const { zone: found } = this.#find(zone);
    const known = this.#figures.get(found);
    if (known !== undefined) return known;
    const { worker, workers, clock } = this.options;
    const figures = SharedFigures.open(found, worker, workers, clock) ?? tooSmall(zone.name);
    this.#figures.set(found, figures);
    return figures;
  }

  copies({ name, size }: ZoneSize, bytes: number): Copies {
    return ZoneCopies.open(this.#find({ name: copiesName(name), size }).zone, bytes) ?? tooSmall(name);
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
    const synced = syncedZones(change.after.root, zones.values(), change.modules.argsIn('http'));
    this.#coming = zones;
    return {
      commit: () => {
        const before = this.#zones;
        this.#zones = zones;
        this.#coming = undefined;
        this.#registry = registry;
        this.#specs = specs;
        this.#synced = synced;
        this.#close(before);
        this.onSynced?.();
      },
      abort: () => {
        this.#coming = undefined;
        this.#close(zones);
      },
    };
  }

  /**
   * Content of the current zones, for the program that takes over.
   * @param place of a worker that does not exist, whose share of the holds is that of the previous program
   */
  carried(place: number): CarriedState {
    const { workers, zones } = this.options;
    return carriedZones(() => Array.from(this.#all(), (zone) => ({ zone, use: zones.useOf(zone) })), { place, workers });
  }

  /** Releases what a worker held when it died. Master only, after `ZoneSet.releaseOf`. */
  dropWorker(worker: number): void {
    const { workers } = this.options;
    for (const zone of this.#all()) {
      ZoneHolds.find(zone, workers)?.dropWorker(worker);
      SharedFigures.dropWorker(zone, worker, workers);
    }
  }

  *#all(): Generator<Zone> {
    for (const { zone } of this.#zones.values()) yield zone;
    for (const { zone } of this.#own.values()) if (zone !== undefined) yield zone;
  }

  #openedOwn(own: OwnZone): Zone {
    return (own.zone ??= this.options.zones.open(own.size.name, own.size.size, OWN_USE));
  }

  #find(size: ZoneSize): Pick<ModuleZone, 'zone' | 'sync'> {
    const { name } = size;
    const own = this.#own.get(ownKey(size));
    if (own !== undefined) return { zone: this.#openedOwn(own), sync: undefined };
    if (this.#errors !== undefined) throw this.#errors;
    const zone = (this.#coming ?? this.#zones).get(name);
    if (zone === undefined) throw new RangeError(`no directive declares zone "${name}"`);
    return zone;
  }

  #specsOf(registry: SpecRegistry): readonly ZoneSpec[] {
    return registry === this.#registry ? this.#specs : zoneSpecs(registry);
  }

  #open(change: Change, specs: readonly ZoneSpec[]): Map<string, ModuleZone> {
    const declared = new Map<string, Declaration>();
    const errors = new ErrorCollector();
    for (const spec of specs) {
      for (const directive of directivesOf(change.after.root, spec)) {
        errors.attempt(() => {
          const declaration = declarationOf(directive, spec, change.modules.argsIn(spec.context), change.after.root);
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
    const opened = new Map<string, ModuleZone>();
    for (const [name, { directive, size, copies, key, sync, redis }] of declared) {
      // Shared records have more in them: with and without "sync" it is other memory.
      opened.set(name, { zone: zones.open(name, size, directive.name, sync === undefined ? key : `${key} sync`), sync, redis });
      const other = copiesName(name);
      if (copies === undefined) continue;
      const memory = zones.open(other, ZoneCopies.zoneSize(copies), directive.name, key);
      opened.set(other, { zone: memory, sync: undefined, redis: '' });
    }
    return opened;
  }

  #close(zones: ReadonlyMap<string, ModuleZone>): void {
    for (const { zone } of zones.values()) this.options.zones.close(zone);
  }
}

/** Use of the memory of modules, see {@link ZoneSet.open}. */
const OWN_USE = 'module';

/** Memory of a module in this thread. */
interface OwnZone {
  readonly size: ZoneSize;
  /** Objects of the module that use it. */
  uses: number;
  /** Undefined: not used in this thread yet. */
  zone: Zone | undefined;
}

const ownKey = ({ name, size }: ZoneSize): string => `${size} ${name}`;

const isInUpstream = (context: ContextName): boolean => context.endsWith('upstream');

/** A directive that declares a zone, in one context. */
interface ZoneSpec {
  readonly context: ContextName;
  readonly registered: RegisteredSpec;
  /** The argument with the zone, empty if it is the only one. */
  readonly field: string;
  /** The argument with the bytes of copies; undefined: there are none. */
  readonly copiesField: string | undefined;
  /** How nodes may share it. */
  readonly sync: ZoneSync | undefined;
}

interface Declaration extends ZoneSize {
  readonly directive: Directive;
  readonly context: ContextName;
  /** Bytes of copies beside it. */
  readonly copies: number | undefined;
  /** Its positional arguments: with others it is another zone. */
  readonly key: string;
  /** How nodes share it, and over which `redis` block. */
  readonly sync: ZoneSync | undefined;
  readonly redis: string;
}

function zoneSpecs(registry: SpecRegistry): ZoneSpec[] {
  const specs: ZoneSpec[] = [];
  for (const context of ZONE_CONTEXTS) {
    for (const name of registry.namesIn(context)) {
      const registered = registry.find(context, name);
      const field = registered && fieldOf(registered.spec, 'zone');
      if (registered === undefined || field === undefined) continue;
      const sync = syncOf(registered.spec, field);
      specs.push({ context, registered, field, copiesField: fieldOf(registered.spec, 'copies'), sync });
    }
  }
  return specs;
}

/** The name of the argument of a kind; empty: it is the only one. */
function fieldOf({ args }: DirectiveSpec, wanted: ArgType<unknown>['kind']): string | undefined {
  const isIt = ({ kind, of }: ArgType<unknown>): boolean => kind === wanted || of?.kind === wanted;
  if (args === undefined) return undefined;
  if (typeof args.parse === 'function') return isIt(args as ArgType<unknown>) ? '' : undefined;
  return Object.entries(args).find(([, type]) => isIt(type as ArgType<unknown>))?.[0];
}

function syncOf({ args }: DirectiveSpec, field: string): ZoneSync | undefined {
  const { of, sync = of?.sync } = (field === '' ? args : (args as Readonly<Record<string, unknown>>)[field]) as ArgType<unknown>;
  return sync;
}

/** No directive can name it. */
const copiesName = (zone: string): string => `${zone}\0copies`;

function* directivesOf(root: Block, { context, registered: { name } }: ZoneSpec): Generator<Directive> {
  if (context === 'main') yield* root.named(name);
  else for (const { block } of root.named(engineOf(context))) if (block !== undefined) yield* inEngine(block, context, name);
}

function* inEngine(engine: Block, context: ContextName, name: string): Generator<Directive> {
  if (!isInUpstream(context)) yield* engine.named(name);
  else for (const { block } of engine.named('upstream')) if (block !== undefined) yield* block.named(name);
}

/** Undefined: the directive goes without a zone. */
function declarationOf(
  directive: Directive,
  { context, registered, field, copiesField, sync }: ZoneSpec,
  args: AnyArgContext,
  root: Block,
): Declaration | undefined {
  const value = readDirective(registered.signature, directive, args);
  const found = (field === '' ? value : (value as Record<string, unknown>)[field]) as ZoneSize | string | undefined;
  if (found === undefined) return undefined;
  const zone = typeof found === 'string' ? { name: found, size: (value as ZoneSize).size } : found;
  const copies = copiesField === undefined ? undefined : ((value as Record<string, unknown>)[copiesField] as number | undefined);
  const redis = sync === undefined ? undefined : (value as { readonly sync?: string }).sync;
  const positional = directive.args.filter(({ text }) => registered.signature.keyed(text) === undefined);
  return {
    directive,
    context,
    ...zone,
    copies,
    key: positional.map(({ text }) => text).join(' '),
    sync: redis === undefined ? undefined : sync,
    redis: redis === undefined ? '' : redisBlock(directive, redis, root),
  };
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

/** True if a change may add, change or remove such a directive. */
function isTouched({ before, after, operations }: Change, { context, registered: { name } }: ZoneSpec): boolean {
  return operations.some((operation) => {
    if (operation.op === 'root') return true;
    const id = 'directive' in operation ? operation.directive.id : operation.id;
    return [before, after].some((tree) => {
      const directive = tree.byId(id);
      if (directive?.name === name || directive?.name === 'redis' || directive?.name === INTERVAL || directive?.name === engineOf(context))
        return true;
      return isInUpstream(context) && directive?.name === 'upstream' && hasOwn(directive, name);
    });
  });
}

const hasOwn = ({ block }: Directive, name: string): boolean => block !== undefined && ownDirective(block, name) !== undefined;

function tooSmall(name: string): never {
  throw new RangeError(`zone "${name}" is too small`);
}

const NOTHING_TO_DO: Prepared = { commit: () => undefined, abort: () => undefined };
