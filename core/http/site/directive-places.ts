import type { Directives, DirectiveSpec } from '../../contract/spec.js';

/** By the name of a directive, the places of the modules that have it among all. */
export type DirectivePlaces = ReadonlyMap<string, readonly number[]>;

/** @param modules the directives of each of them */
export function directivePlaces(modules: readonly Directives[]): DirectivePlaces {
  const places = new Map<string, number[]>();
  for (const [place, directives] of modules.entries()) {
    for (const [key, spec] of Object.entries<DirectiveSpec>(directives)) {
      const name = spec.name ?? key;
      const known = places.get(name);
      if (known === undefined) places.set(name, [place]);
      else known.push(place);
    }
  }
  return places;
}
