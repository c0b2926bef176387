/**
 * The named values of the requests of one traffic engine: variables of the engine and its modules, and variables that the configuration
 * defines (`set`, `map`, named groups). The latter belong to the configuration: they take effect with it and end with it.
 */
import type { Getter, GetterFamily } from '../contract/template.js';
import { IdMap } from './id-map.js';
import { LayeredMap } from './layered-map.js';
import { cyclesFrom, withoutCycle } from './variable-cycles.js';

/** Relations of a directive to variables. Names are without the dollar. */
export interface VariableMention {
  /** Id of the directive. */
  readonly id: number;
  readonly defines: readonly string[];
  readonly uses: readonly string[];
}

/** A variable of the configuration. Templates keep its getter, so it is one object as long as a directive defines it. */
class DefinedVariable<R> {
  /** Gives the value where the request was assigned none: of a `map`. */
  brought: Getter<R> | undefined = undefined;
  /** The same where there is no such directive, and neither the engine nor a module has a variable of the name. */
  initial: Getter<R> | undefined = undefined;
  readonly getter: Getter<R>;

  constructor(name: string, assigned: (request: R, name: string) => string | undefined, other: Getter<R> | undefined) {
    this.getter = (request) => assigned(request, name) ?? (this.brought ?? other ?? this.initial)?.(request);
  }
}

/** A getter that a directive brings. */
interface Brought<R> {
  readonly getter: Getter<R>;
  /** In lower case: what it may evaluate. */
  readonly uses: readonly string[];
}

interface Definition<R> {
  readonly variable: DefinedVariable<R>;
  /** The directives that define it. */
  readonly by: IdMap<true>;
  /** Getters that some of these directives bring: the last one counts. */
  readonly getters: ReadonlyMap<number, Brought<R>>;
  /** Values for requests without an assignment, used where there are no others. */
  readonly initial: ReadonlyMap<number, Getter<R>>;
}

/** The variables of one configuration. Immutable. */
interface Defined<R> {
  readonly definitions: LayeredMap<string, Definition<R>>;
  /** How often each name is used, in whatever text. */
  readonly uses: LayeredMap<string, { readonly count: number }>;
}

const NO_NAMES: readonly string[] = [];

export class Variables<R> {
  readonly #getters = new Map<string, Getter<R>>();
  readonly #families = new Map<string, GetterFamily<R>>();
  /** Getters made by families, so that a second use costs nothing. */
  readonly #made = new Map<string, Getter<R>>();
  /** Getters by the names that they were asked for with, in {@link Variables.#resolvedIn}. */
  readonly #resolved = new Map<string, Getter<R>>();
  #resolvedIn: Defined<R> | undefined;
  #inForce: Defined<R> = { definitions: LayeredMap.of([]), uses: LayeredMap.of([]) };
  /** Of the configuration that is being prepared. */
  #coming: Defined<R> | undefined;
  /** Names whose definitions the coming configuration changes. */
  #touched: readonly string[] = NO_NAMES;

  /**
   * @param assigned value that a request was assigned for a name
   * @param capture the getter of `$1` … `$9`
   * @param isFixed true for the name of a variable that a configuration cannot define although no module has it by its full name
   * @param isChangeable true for the name of a variable of the engine or a module that a configuration may define as well
   * @param isOpen true for the name of a variable of a module whose value may be made of any other one: it may close a cycle
   * @param onCycle called for a variable whose evaluation needs itself: it has no value there
   */
  constructor(
    private readonly assigned: (request: R, name: string) => string | undefined,
    private readonly capture: GetterFamily<R>,
    private readonly isFixed: (name: string) => boolean,
    private readonly isChangeable: (name: string) => boolean,
    private readonly isOpen: (name: string) => boolean,
    private readonly onCycle: (request: R, name: string) => void,
  ) {}

  /** @throws RangeError when two modules define one name. */
  define(name: string, getter: Getter<R>): void {
    const key = name.toLowerCase();
    if (this.#getters.has(key)) throw duplicate(name);
    this.#getters.set(key, getter);
  }

  definePrefix(prefix: string, make: GetterFamily<R>): void {
    const key = prefix.toLowerCase();
    if (this.#families.has(key)) throw duplicate(prefix);
    this.#families.set(key, make);
  }

  /** Names are the same in any case. Undefined for an unknown name. */
  getter(name: string): Getter<R> | undefined {
    const { definitions } = this.#coming ?? this.#inForce;
    if (definitions.size > 0) {
      const defined = definitions.get(name.toLowerCase());
      if (defined !== undefined) return defined.variable.getter;
    }
    return this.#getters.get(name) ?? this.#made.get(name) ?? this.#find(name);
  }

  /** Variables of the engine, its modules and the configuration, without families. */
  *names(): Iterable<string> {
    yield* this.#getters.keys();
    for (const [name] of (this.#coming ?? this.#inForce).definitions) yield name;
  }

  value(name: string, request: R): string | undefined {
    return this.#resolve(name)?.(request);
  }

  /** As {@link getter}, which is looked for once: modules ask for a variable by its name with each request. */
  #resolve(name: string): Getter<R> | undefined {
    const defined = this.#coming ?? this.#inForce;
    if (defined !== this.#resolvedIn) {
      this.#resolved.clear();
      this.#resolvedIn = defined;
    }
    const known = this.#resolved.get(name);
    if (known !== undefined) return known;
    const getter = this.getter(name);
    if (getter !== undefined) this.#resolved.set(name, getter);
    return getter;
  }

  /** True if the configuration may define this name: no variable of the engine or a module has it, or it is a changeable one. */
  mayDefine(name: string): boolean {
    const key = name.toLowerCase();
    return this.isChangeable(key) || (!this.#getters.has(key) && !this.isFixed(key));
  }

  /**
   * Begins a change of the configuration: from now on {@link getter} knows the names that will be active.
   * @param removed the current configuration now and goes; undefined: everything
   */
  begin(removed: Iterable<VariableMention> | undefined, added: Iterable<VariableMention>): void {
    const before: Defined<R> = removed === undefined ? { definitions: LayeredMap.of([]), uses: LayeredMap.of([]) } : this.#inForce;
    const draft = new DefinedDraft(before, (name) => this.#reuse(name));
    for (const mention of removed ?? []) draft.remove(mention);
    for (const mention of added) draft.add(mention);
    this.#coming = draft.defined();
    this.#touched = [...draft.names];
  }

  /** True if a name that the coming configuration uses lost its last definition: what uses it has to be looked at again. */
  get hasOrphans(): boolean {
    const { definitions, uses } = this.#coming ?? this.#inForce;
    for (const name of this.#touched)
      if (definitions.get(name) === undefined && uses.get(name) !== undefined && this.#findStatic(name) === undefined) return true;
    return false;
  }

  /** The getter that a directive of the coming configuration brings for a variable that it defines. */
  bring({ id, uses }: Pick<VariableMention, 'id' | 'uses'>, name: string, getter: Getter<R>): void {
    const brought = { getter, uses: uses.map((used) => used.toLowerCase()) };
    this.#redefine(name, (definition) => ({ ...definition, getters: new Map([...definition.getters, [id, brought]]) }));
  }

  /** As {@link bring}, for a directive that assigns the value to requests on their way. */
  bringInitial(id: number, name: string, getter: Getter<R>): void {
    this.#redefine(name, (definition) => ({ ...definition, initial: new Map([...definition.initial, [id, getter]]) }));
  }

  #redefine(name: string, change: (definition: Definition<R>) => Definition<R>): void {
    const coming = this.#coming;
    const definition = coming?.definitions.get(name.toLowerCase());
    if (coming === undefined || definition === undefined) return;
    this.#coming = { ...coming, definitions: coming.definitions.with([[name.toLowerCase(), change(definition)]]) };
  }

  commit(): void {
    const coming = this.#coming;
    if (coming === undefined) return;
    for (const name of this.#touched) {
      const definition = coming.definitions.get(name);
      if (definition === undefined) continue;
      definition.variable.brought = lastOf(definition.getters)?.getter;
      definition.variable.initial = lastOf(definition.initial);
    }
    this.#guard(coming);
    this.#inForce = coming;
    this.abort();
  }

  /** A change can make cycles with variables that it does not concern. */
  #guard({ definitions }: Defined<R>): void {
    const broughtFor = (name: string): Brought<R> | undefined => lastOf(definitions.get(name)?.getters);
    const usesOf = (name: string): readonly string[] => broughtFor(name)?.uses ?? NO_NAMES;
    const open = this.#touched.filter((name) => usesOf(name).some(this.isOpen));
    for (const name of new Set([...cyclesFrom(this.#touched, usesOf), ...open])) {
      const [definition, brought] = [definitions.get(name), broughtFor(name)];
      if (definition !== undefined && brought !== undefined)
        definition.variable.brought = withoutCycle(brought.getter, (request) => this.onCycle(request, name));
    }
  }

  abort(): void {
    this.#coming = undefined;
    this.#touched = NO_NAMES;
  }

  #reuse(name: string): DefinedVariable<R> {
    return this.#inForce.definitions.get(name)?.variable ?? new DefinedVariable(name, this.assigned, this.#findStatic(name));
  }

  #findStatic(name: string): Getter<R> | undefined {
    return this.#getters.get(name) ?? this.#made.get(name) ?? this.#find(name);
  }

  #find(name: string): Getter<R> | undefined {
    const getter = this.#getters.get(name.toLowerCase());
    if (getter !== undefined) return getter;
    if (/^[1-9]$/.test(name)) return this.#remember(name, this.capture(name));
    return this.#fromFamily(name);
  }

  #fromFamily(name: string): Getter<R> | undefined {
    for (let underscore = name.lastIndexOf('_'); underscore > 0; underscore = name.lastIndexOf('_', underscore - 1)) {
      const make = this.#families.get(name.slice(0, underscore + 1).toLowerCase());
      if (make !== undefined) return this.#remember(name, make(name.slice(underscore + 1)));
    }
    return undefined;
  }

  #remember(name: string, getter: Getter<R>): Getter<R> {
    this.#made.set(name, getter);
    return getter;
  }
}

/** One change of the variables of a configuration. */
class DefinedDraft<R> {
  readonly #definitions = new Map<string, Definition<R> | undefined>();
  readonly #uses = new Map<string, number>();

  constructor(
    private readonly before: Defined<R>,
    private readonly variableOf: (name: string) => DefinedVariable<R>,
  ) {}

  add({ id, defines, uses }: VariableMention): void {
    for (const name of uses) this.#count(name, 1);
    for (const written of defines) {
      const name = written.toLowerCase();
      const known = this.#definition(name) ?? {
        variable: this.variableOf(name),
        by: IdMap.empty<true>(),
        getters: new Map(),
        initial: new Map(),
      };
      const by = known.by.edit();
      by.set(id, true);
      this.#definitions.set(name, { ...known, by: by.commit() });
    }
  }

  remove({ id, defines, uses }: VariableMention): void {
    for (const name of uses) this.#count(name, -1);
    for (const written of defines) {
      const name = written.toLowerCase();
      const known = this.#definition(name);
      if (known === undefined) continue;
      const by = known.by.edit();
      by.delete(id);
      const now = by.commit();
      const [getters, initial] = [without(known.getters, id), without(known.initial, id)];
      this.#definitions.set(name, now.size > 0 ? { ...known, by: now, getters, initial } : undefined);
    }
  }

  /** Variables whose definitions have changed. */
  get names(): Iterable<string> {
    return this.#definitions.keys();
  }

  defined(): Defined<R> {
    const { definitions, uses } = this.before;
    const counts = Array.from(this.#uses, ([name, by]) => {
      const count = (uses.get(name)?.count ?? 0) + by;
      return [name, count > 0 ? { count } : undefined] as const;
    });
    return {
      definitions: this.#definitions.size > 0 ? definitions.with(this.#definitions) : definitions,
      uses: counts.length > 0 ? uses.with(counts) : uses,
    };
  }

  #definition(name: string): Definition<R> | undefined {
    return this.#definitions.has(name) ? this.#definitions.get(name) : this.before.definitions.get(name);
  }

  #count(name: string, by: number): void {
    const key = name.toLowerCase();
    this.#uses.set(key, (this.#uses.get(key) ?? 0) + by);
  }
}

function duplicate(name: string): RangeError {
  return new RangeError(`the duplicate "${name}" variable`);
}

function without<T>(entries: ReadonlyMap<number, T>, id: number): ReadonlyMap<number, T> {
  return entries.has(id) ? new Map([...entries].filter(([other]) => other !== id)) : entries;
}

const lastOf = <T>(entries: ReadonlyMap<number, T> | undefined): T | undefined => entries && [...entries.values()].at(-1);
