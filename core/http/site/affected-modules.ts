import type { ModuleDeclaration } from '../../contract/manifest.js';
import type { DirectiveSpec } from '../../contract/spec.js';
import { coreDirectives } from './core-module.js';
import type { DirectivePlaces } from './directive-places.js';
import type { Location } from './location.js';

/** A compiled location, and the places of the modules that have to be called again for its block. */
export interface EarlierResults {
  readonly location: Location;
  readonly affected: ReadonlySet<number>;
}

interface Module {
  readonly declaration: ModuleDeclaration;
  /** With the directives that the module has asked blocks for. */
  readonly reader: { readonly asked: ReadonlySet<string> };
}

/** A directive that locations inherit. */
interface Setting {
  readonly name: string;
  /** Places of the modules that it may concern. */
  readonly users: readonly number[];
  /** Lines of a location take the place of those around it. */
  readonly isReplaced: boolean;
}

/** Finds the modules that make something else of a location whose block is the same, where it inherits other directives. */
export class AffectedModules {
  #last: { readonly changed: ReadonlySet<string>; readonly settings: readonly Setting[] | undefined } | undefined;

  /** @param places of the modules, by their directives */
  constructor(
    private readonly modules: readonly Module[],
    private readonly places: DirectivePlaces,
  ) {}

  /**
   * @param changed names of the directives
   * @returns undefined: all of the location has to be compiled
   */
  of(location: Location, changed: ReadonlySet<string>): EarlierResults | undefined {
    const { branches, limitExcept, holdings } = location;
    if (branches !== undefined || limitExcept !== undefined) return undefined;
    if (holdings.resources.some(({ owner }) => owner === undefined)) return undefined;
    const settings = this.#settingsOf(changed);
    if (settings === undefined) return undefined;
    const affected = new Set<number>();
    for (const { name, users, isReplaced } of settings) {
      // Lines of its own apply there, as before.
      if (isReplaced && location.node.owns(name)) continue;
      for (const place of users) affected.add(place);
    }
    return { location, affected };
  }

  /** The same for thousands of locations. */
  #settingsOf(changed: ReadonlySet<string>): readonly Setting[] | undefined {
    if (this.#last?.changed === changed) return this.#last.settings;
    const found = Array.from(changed, (name) => this.#settingOf(name));
    const settings = found.includes(undefined) ? undefined : found.filter((setting) => setting !== undefined);
    this.#last = { changed, settings };
    return settings;
  }

  /** Undefined: a location cannot have it, so it does more than to be inherited. Variables may have other values then. */
  #settingOf(name: string): Setting | undefined {
    const owners = this.places.get(name) ?? [];
    const lists = [coreDirectives, ...owners.map((place) => this.modules[place]?.declaration.manifest.directives ?? {})];
    const specs = lists.flatMap((directives) => Object.entries<DirectiveSpec>(directives));
    const outer = specs.filter(([key, spec]) => (spec.name ?? key) === name && (spec.in.includes('http') || spec.in.includes('server')));
    if (outer.length === 0 || !outer.every(([, spec]) => spec.in.includes('location'))) return undefined;
    const askers = [...this.modules.keys()].filter((place) => this.modules[place]?.reader.asked.has(name));
    return { name, users: [...owners, ...askers], isReplaced: outer.every(([, spec]) => spec.inherit !== 'append') };
  }
}
