import type { ExplainedCandidate, ExplainedLocation } from '../../contract/explain.js';
import { locationName } from '../../toolkit/location-name.js';
import type { Block, Directive } from '../../contract/tree.js';
import type { Location } from '../site/location.js';
import type { LocationFound, LocationTable } from '../site/location-table.js';
import type { VirtualServer } from '../site/virtual-server.js';
import { placeOf } from './place.js';
import { readable } from './readable.js';

/** One level of locations, and which of them the search went into. */
interface Level {
  readonly table: LocationTable;
  readonly block: Block | undefined;
  readonly chosen: Location | undefined;
}

/**
 * Says why a location was found, and why the others of its levels were not. The search of the traffic decides what is found.
 * @param limit most others that are listed
 */
export function explainLocation(server: VirtualServer, uri: string, found: LocationFound, limit: number): ExplainedLocation {
  const { location } = found;
  const levels = levelsOf(server, location);
  const others = limit > 0 ? levels.flatMap((level) => rejectedIn(level, uri, found)) : [];
  // Matching ones come first: they matter most.
  const ordered = [...others.filter(({ matches }) => matches), ...others.filter(({ matches }) => !matches)];
  return {
    ...(location !== undefined && { location: written(location) }),
    uri: readable(uri),
    why: whyChosen(location, uri, found, levels),
    ...placeOf(location?.directive),
    rejected: ordered.slice(0, limit),
    more: Math.max(others.length - limit, 0),
  };
}

/** A named location is not searched for. */
export function explainNamed(location: Location | undefined, name: string, uri: string): ExplainedLocation {
  const why = location === undefined ? `there is no location "${name}" in the server` : 'it is asked for by its name';
  return {
    ...(location && { location: written(location) }),
    uri: readable(uri),
    why,
    ...placeOf(location?.directive),
    rejected: [],
    more: 0,
  };
}

/** Modifier and name: `^~ /img`. */
function written({ directive, match }: Location): string {
  if (directive === undefined) return readable(match.name);
  const { modifier, name } = locationName(directive);
  return modifier === '' ? name : `${modifier} ${name}`;
}

/** The levels that were searched: those on the way to the location, and the one inside of it. */
function levelsOf(server: VirtualServer, location: Location | undefined): Level[] {
  const ids: number[] = [];
  for (let node = location?.node; node?.kind === 'location'; node = node.parent) if (node.directive) ids.unshift(node.directive.id);
  const levels: Level[] = [];
  let table = server.locations;
  let { block } = server.directive;
  for (const id of ids) {
    const chosen = table.byDirective(id);
    levels.push({ table, block, chosen });
    if (chosen === undefined) return levels;
    table = chosen.nested;
    ({ block } = chosen.directive ?? {});
  }
  levels.push({ table, block, chosen: undefined });
  return levels;
}

function rejectedIn(level: Level, uri: string, found: LocationFound): ExplainedCandidate[] {
  const { table, block, chosen } = level;
  const longest = longestPrefix(level, uri);
  const rejected: ExplainedCandidate[] = [];
  for (const directive of block?.named('location') ?? []) {
    const location = table.byDirective(directive.id);
    if (location === undefined || location === chosen || location.match.kind === 'named') continue;
    rejected.push({ location: written(location), ...whyNot(location, uri, { chosen, longest, found }), ...placeOf(directive) });
  }
  return rejected;
}

interface Outcome {
  readonly chosen: Location | undefined;
  /** The longest prefix that the path begins with. */
  readonly longest: Location | undefined;
  readonly found: LocationFound;
}

interface Reason {
  readonly matches: boolean;
  readonly why: string;
}

const no = (why: string): Reason => ({ matches: false, why });
const but = (why: string): Reason => ({ matches: true, why: `it matches, but ${why}` });

function whyNot({ match, directive }: Location, uri: string, outcome: Outcome): Reason {
  switch (match.kind) {
    case 'exact':
      return match.name === uri ? but(comesFirst(outcome)) : no('the path is another one');
    case 'prefix':
    case 'prefix-only':
      return uri.startsWith(match.name) ? but(comesFirst(outcome)) : no('the path does not begin with it');
    case 'regex':
      return whyNotRegex(directive, match.pattern.test(uri), outcome);
    case 'named':
      return no('it is asked for by its name alone');
  }
}

/** Locations before a matching one. */
function comesFirst({ chosen, found }: Outcome): string {
  if (chosen === undefined || found.redirect)
    return 'the path lacks the slash of a location that passes requests on: it is redirected there';
  const name = written(chosen);
  if (chosen.match.kind === 'exact') return `"${name}" is exact`;
  return chosen.match.kind === 'regex' ? `the regular expression "${name}" comes before prefixes` : `"${name}" is longer`;
}

/** Regular expressions are tried in the order of the configuration, unless what was found before ends the search. */
function whyNotRegex(directive: Directive | undefined, matches: boolean, { chosen, longest, found }: Outcome): Reason {
  if (chosen?.match.kind === 'regex') {
    if (!matches) return no('it does not match');
    return but(
      isBefore(chosen.directive, directive) ? `"${written(chosen)}" is written before it` : `"${written(chosen)}" was found first`,
    );
  }
  const ended = searchEnd(chosen, longest, found);
  if (ended !== undefined) return matches ? but(`it is not tried: ${ended}`) : no(`it is not tried: ${ended}`);
  return no('it does not match');
}

/** Why no regular expression of the level was tried. */
function searchEnd(chosen: Location | undefined, longest: Location | undefined, found: LocationFound): string | undefined {
  if (found.redirect) return 'the path lacks the slash of a location that passes requests on';
  if (chosen?.match.kind === 'exact') return `"${written(chosen)}" is exact`;
  if (longest?.match.kind === 'prefix-only') return `"${written(longest)}" has the modifier ^~`;
  return chosen !== found.location && found.final ? `a location in "${written(chosen ?? longest ?? found.location!)}" decides` : undefined;
}

function longestPrefix({ table, block }: Level, uri: string): Location | undefined {
  let longest: Location | undefined;
  for (const { id } of block?.named('location') ?? []) {
    const location = table.byDirective(id);
    if (location === undefined || (location.match.kind !== 'prefix' && location.match.kind !== 'prefix-only')) continue;
    if (uri.startsWith(location.match.name) && location.match.name.length > (longest?.match.name.length ?? -1)) longest = location;
  }
  return longest;
}

function isBefore(one: Directive | undefined, other: Directive | undefined): boolean {
  if (one === undefined || other === undefined || one.source.file !== other.source.file) return false;
  return one.source.line < other.source.line || (one.source.line === other.source.line && one.source.column < other.source.column);
}

function whyChosen(location: Location | undefined, uri: string, { redirect }: LocationFound, levels: readonly Level[]): string {
  if (location === undefined) return `no location of the server matches "${readable(uri)}"`;
  const inside = levels.length > 2 ? ', in the location around it' : '';
  if (redirect) return 'it passes requests on, and the path is its name without the slash at the end: the client is redirected';
  switch (location.match.kind) {
    case 'exact':
      return `the path is exactly this${inside}`;
    case 'prefix-only':
      return `it is the longest prefix of the path${inside}, and ^~ says that no regular expression is tried`;
    case 'prefix':
      return `it is the longest prefix of the path${inside}, and no regular expression matches`;
    case 'regex':
      return `it is the first regular expression that matches the path${inside}`;
    case 'named':
      return 'it is asked for by its name';
  }
}
