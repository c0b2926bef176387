import { locationName } from '../../core/toolkit/location-name.js';
import { exactTree, shownTree } from '../../core/contract/print.js';
import type { BlockPart, Directive, NewDirective } from '../../core/contract/tree.js';

/** Identity of a location in its block. */
export interface LocationKey {
  /** Empty, `=`, `~`, `~*` or `^~`. */
  readonly location_rule: string;
  readonly location_name: string;
}

/** A location as calls send it and lists show it. */
export interface LocationFields extends LocationKey {
  /** Directives, without nested locations where it is shown. */
  readonly location_body?: string;
  readonly proxy_pass?: string;
  readonly locations?: readonly LocationFields[];
}

/** A location of a list. */
export interface ShownLocation extends Required<LocationKey> {
  readonly location_body: string;
  readonly proxy_pass?: string;
  /** Of the configuration file. */
  readonly is_static: boolean;
  readonly locations?: readonly ShownLocation[];
}

/** @param pointer where in the call the fields came */
export function newLocation(fields: LocationFields, pointer: string): NewDirective {
  const { location_rule: rule, location_name: name } = fields;
  return {
    name: 'location',
    words: rule === '' ? [name] : [rule, name],
    pointer: `${pointer}/location_name`,
    block: sentParts(fields, pointer),
  };
}

/**
 * The location with those of its parts changed that the fields name; the others stay.
 * @param sent the fields alone, as they were parsed
 */
export function changedLocation(location: Directive, sent: Directive, fields: LocationFields, pointer: string): NewDirective {
  const kept = partsOf(location);
  // A body may say where to pass requests to, as that of a new location may.
  const pass = fields.location_body !== undefined && sorted(sent).pass !== undefined ? [] : kept.pass;
  const parts = { ...kept, pass, ...definedParts(fields, pointer) };
  return { ...newLocation(fields, pointer), block: [...parts.pass, ...parts.body, ...parts.nested] };
}

export function shownLocation(location: Directive, isAddition: (location: Directive) => boolean): ShownLocation {
  const { modifier, name } = locationName(location);
  const { pass, others, nested } = sorted(location);
  const target = pass?.args[0]?.text;
  return {
    location_rule: modifier,
    location_name: name,
    location_body: shownTree(others),
    ...(target !== undefined && { proxy_pass: target }),
    is_static: !isAddition(location),
    ...(nested.length > 0 && { locations: nested.map((inner) => shownLocation(inner, isAddition)) }),
  };
}

/** The location of a block with that key. */
export function locationIn(outer: Directive, { location_rule: rule, location_name: wanted }: LocationKey): Directive | undefined {
  for (const location of outer.block?.named('location') ?? []) {
    const { modifier, name } = locationName(location);
    if (modifier === rule && name === wanted) return location;
  }
  return undefined;
}

type Parts = Readonly<Record<'pass' | 'body' | 'nested', readonly BlockPart[]>>;

function sentParts(fields: LocationFields, pointer: string): readonly BlockPart[] {
  const { pass = [], body = [], nested = [] } = definedParts(fields, pointer);
  return [...pass, ...body, ...nested];
}

function definedParts({ proxy_pass: pass, location_body: body, locations }: LocationFields, pointer: string): Partial<Parts> {
  return {
    ...(pass !== undefined && { pass: pass === '' ? [] : [{ name: 'proxy_pass', words: [pass], pointer: `${pointer}/proxy_pass` }] }),
    ...(body !== undefined && { body: [{ text: body, pointer: `${pointer}/location_body` }] }),
    ...(locations && { nested: locations.map((inner, i) => newLocation(inner, `${pointer}/locations/${i}`)) }),
  };
}

/** The parts of an active location, as text that says the same. */
function partsOf(location: Directive): Parts {
  const { pass, others, nested } = sorted(location);
  return { pass: same(pass === undefined ? [] : [pass]), body: same(others), nested: same(nested) };
}

const same = (directives: readonly Directive[]): readonly BlockPart[] => [{ text: exactTree(directives), pointer: '' }];

function sorted({ block }: Directive): { pass: Directive | undefined; others: readonly Directive[]; nested: readonly Directive[] } {
  const all = [...(block ?? [])];
  const pass = all.find(({ name }) => name === 'proxy_pass');
  const others = all.filter((directive) => directive !== pass && directive.name !== 'location');
  return { pass, others, nested: all.filter(({ name }) => name === 'location') };
}
