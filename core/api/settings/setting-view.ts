/** Blocks of the configuration as fields of a setting. */
import { locationName } from '../../toolkit/location-name.js';
import type { FieldSet, Setting, SettingSurroundings } from '../../contract/setting.js';
import type { Directive } from '../../contract/tree.js';
import type { VirtualServerView } from '../../contract/virtual-servers.js';
import type { CallFields } from './setting-targets.js';

/** The directives of a block that a set owns, in order. */
export function linesOf({ block }: Directive, { directives }: FieldSet): readonly Directive[] {
  const [only, ...others] = directives;
  if (block === undefined || only === undefined) return [];
  if (others.length === 0) return [...block.named(only)];
  return [...block].filter(({ name }) => directives.includes(name));
}

/** The fields of one block; those about which it says nothing are absent. */
export function shownFields(block: Directive, sets: readonly FieldSet[] = [], around: SettingSurroundings): CallFields {
  const fields: Record<string, unknown> = {};
  for (const set of sets) Object.assign(fields, set.read(linesOf(block, set), around));
  return fields;
}

/** A server with its locations; undefined if none of them says anything. */
export function shownServer(server: VirtualServerView, setting: Setting, around: SettingSurroundings): CallFields | undefined {
  const fields = shownFields(server.directive, setting.server, around);
  const locations = shownLocations(server.directive, setting, around);
  if (locations.length === 0 && Object.keys(fields).length === 0) return undefined;
  const { addresses, names } = server;
  return { listens: addresses, serverNames: names.length === 0 ? [''] : names, ...fields, ...(locations.length > 0 && { locations }) };
}

function shownLocations({ block }: Directive, setting: Setting, around: SettingSurroundings): readonly CallFields[] {
  if (setting.location === undefined) return [];
  return Array.from(block?.named('location') ?? []).flatMap((location) => {
    const fields = shownFields(location, setting.location, around);
    const locations = shownLocations(location, setting, around);
    if (locations.length === 0 && Object.keys(fields).length === 0) return [];
    return { location: nameOf(location), ...fields, ...(locations.length > 0 && { locations }) };
  });
}

function nameOf(location: Directive): string {
  const { modifier, name } = locationName(location);
  return modifier === '' ? name : `${modifier} ${name}`;
}
