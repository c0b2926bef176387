/** The typed configuration of a module in one scope, with nginx's inheritance, all of it derived from the module's specs. */
import type { AnyArgContext, Conf, ContextName, DirectiveSpec, Directives } from '../contract/spec.js';
import type { Block, Directive, Written } from '../contract/tree.js';
import { readArguments, Signature } from '../contract/arguments.js';
import { errorAt } from './errors.js';
import { Lexer } from './lexer.js';

/** The block a configuration is read for. */
export interface ConfScope {
  /** The context that the directives in the block stand in. */
  readonly context: ContextName;
  /** Undefined for a scope that is not written in the configuration. */
  readonly block: Block | undefined;
}

/** A directive of the module. Its readers are made at their first use: a configuration has a few of the directives. */
class Slot {
  readonly name: string;
  #signature: Signature | undefined;
  #inside: InnerBlock | undefined;

  constructor(
    readonly key: string,
    readonly spec: DirectiveSpec,
  ) {
    this.name = spec.name ?? key;
  }

  get signature(): Signature {
    return (this.#signature ??= new Signature(this.spec));
  }

  /** Undefined: its block is not typed. */
  get inside(): InnerBlock | undefined {
    const { block } = this.spec;
    if (typeof block !== 'object') return undefined;
    return (this.#inside ??= { context: block.context, reader: new ConfReader(block.directives) });
  }
}

/** Reader of the directives of a typed block. */
interface InnerBlock {
  readonly context: ContextName;
  readonly reader: ConfReader<Directives>;
}

type LevelClass = new (scope: ConfScope, parent: Level | undefined, args: AnyArgContext) => Level;

/** Memo of an absent directive. */
const ABSENT = Symbol('absent');
const NONE: readonly unknown[] = [];

/**
 * Reads the configuration of one module. Make one for each module and keep it: a scope then costs one small object, and nothing at all
 * where it has no directive of the module.
 */
export class ConfReader<D extends Directives> {
  private readonly slots: readonly Slot[];
  private readonly slotsByName: ReadonlyMap<string, readonly Slot[]>;
  private readonly level: LevelClass;

  constructor(specs: D) {
    this.slots = Object.entries(specs).map(([key, spec]) => new Slot(key, spec));
    this.slotsByName = Map.groupBy(this.slots, (slot) => slot.name);
    this.level = levelClass(this.slots);
  }

  /**
   * The current configuration in `scope`. Values are parsed at first use and kept; inherited values are the very objects of the parent. Scopes
   * that change nothing get the parent's configuration itself, or share one where the parent has values that are not inherited.
   * @param parent result of this method for the scope around
   * @throws ConfigError (when a value is used) if an argument is rejected; never for a validated tree
   */
  read(scope: ConfScope, parent: Conf<D> | undefined, args: AnyArgContext): Conf<D> {
    const outer = parent as Level | undefined;
    if (outer !== undefined && !this.standsIn(scope)) return Level.within(outer, this.level, args) as unknown as Conf<D>;
    return new this.level(scope, outer, args) as unknown as Conf<D>;
  }

  /** Goes through whatever is shorter: the lines of the block or the directives of the module. */
  private standsIn({ context, block }: ConfScope): boolean {
    if (block === undefined) return false;
    if (block.size > this.slots.length) return this.slots.some((slot) => slot.spec.in.includes(context) && hasOwn(block, slot.name));
    for (const { name } of block) if (this.slotsByName.get(name)?.some((slot) => slot.spec.in.includes(context)) === true) return true;
    return false;
  }
}

/**
 * One scope. Subclasses add a getter for each directive; so that any name can be one, nothing else is visible: the state is private and
 * the methods are static.
 */
class Level {
  /** Values of its own directives, of defaults, and of directives that inner scopes have used, by slot. */
  #values: Map<number, unknown> | undefined;
  readonly #scope: ConfScope;
  readonly #parent: Level | undefined;
  readonly #args: AnyArgContext;
  /** Something of it is not inherited, so an inner scope cannot share it. */
  readonly #endsHere: boolean;
  /** For inner scopes without directives of their own. */
  #within: Level | undefined;

  /** @param ending slots with `inherit: 'none'` */
  constructor(ending: readonly Slot[], scope: ConfScope, parent: Level | undefined, args: AnyArgContext) {
    this.#values = undefined;
    this.#scope = scope;
    this.#parent = parent;
    this.#args = args;
    this.#endsHere = ending.some((slot) => own(slot, scope).length > 0);
    this.#within = undefined;
  }

  /** The configuration of scopes in this one that change nothing: thousands of locations share it. */
  static within(level: Level, levelClass: LevelClass, args: AnyArgContext): Level {
    if (!level.#endsHere) return level;
    return (level.#within ??= new levelClass({ context: level.#scope.context, block: undefined }, level, args));
  }

  static value(level: Level, index: number, slot: Slot): unknown {
    const known = level.#values?.get(index);
    if (known !== undefined) return known === ABSENT ? undefined : known;
    const directives = own(slot, level.#scope);
    const outer = slot.spec.inherit === 'none' ? undefined : level.#parent;
    // Thousands of inner scopes need no copies: what is inherited is kept in the scopes around them.
    if (directives.length === 0 && outer !== undefined) return Level.inherited(outer, index, slot);
    return Level.keep(level, index, directives.length === 0 ? fallback(slot, level.#args) : Level.read(level, index, slot, directives));
  }

  /** For an inner scope. */
  private static inherited(level: Level, index: number, slot: Slot): unknown {
    return Level.keep(level, index, Level.value(level, index, slot));
  }

  private static keep(level: Level, index: number, value: unknown): unknown {
    level.#values ??= new Map();
    level.#values.set(index, value === undefined ? ABSENT : value);
    return value;
  }

  private static read(level: Level, index: number, slot: Slot, directives: readonly Directive[]): unknown {
    const { spec } = slot;
    const outer = spec.inherit === 'none' ? undefined : level.#parent;
    const values = directives.map((directive) => readSlot(slot, directive, level.#args));
    if (spec.many === undefined) return values.at(-1);
    if (spec.inherit !== 'append' || outer === undefined) return values;
    return [...(Level.inherited(outer, index, slot) as readonly unknown[]), ...values];
  }
}

function levelClass(slots: readonly Slot[]): LevelClass {
  const ending = slots.filter(({ spec }) => spec.inherit === 'none');
  class ModuleLevel extends Level {
    constructor(scope: ConfScope, parent: Level | undefined, args: AnyArgContext) {
      super(ending, scope, parent, args);
    }
  }
  for (const [index, slot] of slots.entries()) {
    const get = function (this: Level): unknown {
      return Level.value(this, index, slot);
    };
    Object.defineProperty(ModuleLevel.prototype, slot.key, { get, enumerable: true });
  }
  return ModuleLevel;
}

/** The value of an absent directive. */
function fallback(slot: Slot, args: AnyArgContext): unknown {
  const { spec, name } = slot;
  if (spec.default === undefined) return spec.many === undefined ? undefined : NONE;
  const value = readSlot(slot, defaultDirective(name, spec.default), args);
  return spec.many === undefined ? value : [value];
}

function own({ name, spec }: Slot, { context, block }: ConfScope): readonly Directive[] {
  if (block === undefined || !spec.in.includes(context)) return [];
  return ownDirectives(block, name);
}

/** The directives called `name` in this very block, nothing inherited. */
export function ownDirectives(block: Block, name: string): readonly Directive[] {
  const found = block.named(name);
  return Array.isArray(found) ? (found as readonly Directive[]) : [...found];
}

function hasOwn(block: Block, name: string): boolean {
  return ownDirective(block, name) !== undefined;
}

/** The first directive called `name` in this very block, nothing inherited. */
export function ownDirective(block: Block, name: string): Directive | undefined {
  for (const directive of block.named(name)) return directive;
  return undefined;
}

/**
 * The typed value of one directive, without that of a typed block.
 * @throws ConfigError at the first argument that is rejected
 */
export function readDirective(signature: Signature, directive: Written, args: AnyArgContext): unknown {
  return readArguments(signature, directive, args, (message, word, hint) => {
    throw errorAt(directive, message, word, hint);
  });
}

/** With the block, if its directives are typed. */
function readSlot({ signature, inside }: Slot, directive: Written & Pick<Directive, 'block'>, args: AnyArgContext): unknown {
  const value = readDirective(signature, directive, args);
  if (inside === undefined) return value;
  const block = inside.reader.read({ context: inside.context, block: directive.block }, undefined, args);
  return typeof value === 'object' ? { ...value, block } : { block };
}

/** A default is written as in a configuration file, so that it is read by the same rules. */
function defaultDirective(name: string, text: string): Written {
  const source = { file: `default of "${name}"`, line: 1, column: 1 };
  const report = (message: string): never => {
    throw new Error(`default of directive "${name}": ${message}`);
  };
  const { words } = new Lexer(`${text};`, { report, wordLength: Infinity, unexpectedEnd: undefined }).next();
  return { name, args: words, source };
}
