/** Targets of a call of a setting: the blocks to change, each with its fields. */
import { ArgError } from '../../contract/spec.js';
import { locationName } from '../../toolkit/location-name.js';
import type { FieldSet, Setting } from '../../contract/setting.js';
import type { Directive } from '../../contract/tree.js';
import type { VirtualServers, VirtualServerView } from '../../contract/virtual-servers.js';
import type { CallErrors } from './call-errors.js';

export type CallFields = Readonly<Record<string, unknown>>;

/** A location of a call. */
interface NamedLocation extends CallFields {
  readonly location: string;
  readonly locations?: readonly NamedLocation[];
}
/** A server of a call. */
interface NamedServer extends CallFields {
  readonly listens: readonly string[];
  readonly serverNames?: readonly string[];
  readonly locations?: readonly NamedLocation[];
}
/** The body of a call, which fits the schema of the setting. */
export interface SettingBody extends CallFields {
  readonly servers?: readonly NamedServer[];
}

/** A block to change. */
export interface SettingTarget {
  readonly block: Directive;
  readonly sets: readonly FieldSet[];
  readonly fields: CallFields;
  /** JSON pointer of the fields. */
  readonly pointer: string;
}

export interface TargetSurroundings {
  readonly servers: VirtualServers;
  /** The block of the traffic engine. */
  readonly engine: Directive | undefined;
  readonly errors: CallErrors;
}

/** Every block that a call names. A block that does not exist, or is named twice, is added to the errors. */
export function settingTargets(setting: Setting, body: SettingBody, around: TargetSurroundings): readonly SettingTarget[] {
  return new TargetFinder(setting, around).find(body);
}

class TargetFinder {
  readonly #targets: SettingTarget[] = [];
  /** Blocks that were named, by where. */
  readonly #named = new Map<Directive, string>();
  readonly #locations = new Map<Directive, ReadonlyMap<string, Directive>>();

  constructor(
    private readonly setting: Setting,
    private readonly around: TargetSurroundings,
  ) {}

  find({ servers = [], ...fields }: SettingBody): readonly SettingTarget[] {
    const { engine } = this.around;
    if (engine !== undefined) this.#add(engine, this.setting.global, fields, '');
    for (const [i, server] of servers.entries()) this.#server(server, `/servers/${i}`);
    return this.#targets;
  }

  #server({ listens, serverNames, locations = [], ...fields }: NamedServer, pointer: string): void {
    for (const { directive } of this.#serversNamed(listens, serverNames, pointer)) {
      if (this.#isFirst(directive, pointer)) this.#add(directive, this.setting.server, fields, pointer);
      this.#inside(directive, locations, pointer);
    }
  }

  #inside(block: Directive, locations: readonly NamedLocation[], outer: string): void {
    for (const [i, { location: name, locations: nested = [], ...fields }] of locations.entries()) {
      const pointer = `${outer}/locations/${i}`;
      const location = this.#locationsOf(block).get(locationKey(locationName({ args: wordsOf(name) })));
      if (location === undefined) {
        this.around.errors.add(404, 'LocationNotFound', `${pointer}/location`, `location "${name}" not found`);
        continue;
      }
      if (this.#isFirst(location, pointer)) this.#add(location, this.setting.location, fields, pointer);
      this.#inside(location, nested, pointer);
    }
  }

  #add(block: Directive, sets: readonly FieldSet[] | undefined, fields: CallFields, pointer: string): void {
    if (sets !== undefined && Object.keys(fields).length > 0) this.#targets.push({ block, sets, fields, pointer });
  }

  #isFirst(block: Directive, pointer: string): boolean {
    const first = this.#named.get(block);
    if (first === undefined || first === pointer) {
      this.#named.set(block, pointer);
      return true;
    }
    this.around.errors.add(400, 'InvalidField', pointer, `the same as ${first}`);
    return false;
  }

  /** Servers that have one of the names at one of the addresses, each of which must exist. */
  #serversNamed(listens: readonly string[], names: readonly string[] | undefined, pointer: string): Iterable<VirtualServerView> {
    const found = new Map<Directive, VirtualServerView>();
    for (const [i, address] of listens.entries())
      for (const [j, name] of (names ?? [undefined]).entries()) {
        const place = names === undefined ? `${pointer}/listens/${i}` : `${pointer}/serverNames/${j}`;
        const server = this.#serverNamed(address, name, place, `${pointer}/listens/${i}`);
        if (server !== undefined) found.set(server.directive, server);
      }
    const exact = found.size > 1 ? [...found.values()].find((server) => isNamedExactly(server, listens, names)) : undefined;
    return exact === undefined ? found.values() : [exact];
  }

  #serverNamed(address: string, name: string | undefined, place: string, addressPlace: string): VirtualServerView | undefined {
    const { servers, errors } = this.around;
    try {
      const server = servers.find(address, name);
      const isListening = server !== undefined || servers.at(address).length > 0;
      if (!isListening) errors.add(404, 'ServerNotFound', addressPlace, `no server listens at "${address}"`);
      else if (server === undefined) errors.add(404, 'ServerNotFound', place, `no server called "${name}" at "${address}"`);
      return server;
    } catch (error) {
      if (!(error instanceof ArgError)) throw error;
      errors.add(400, 'InvalidField', addressPlace, error.message);
      return undefined;
    }
  }

  #locationsOf(block: Directive): ReadonlyMap<string, Directive> {
    const known = this.#locations.get(block);
    if (known !== undefined) return known;
    const locations = Array.from(block.block?.named('location') ?? [], (one) => [locationKey(locationName(one)), one] as const);
    const map = new Map(locations);
    this.#locations.set(block, map);
    return map;
  }
}

/** Where two servers have a name at an address in common: the one with all of these. */
function isNamedExactly({ addresses, names }: VirtualServerView, listens: readonly string[], wanted: readonly string[] = []): boolean {
  return isSame(addresses, listens) && isSame(names.length === 0 ? [''] : names, wanted);
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((text) => other.includes(text));

/** The words of `= /x`, as `location` has them. */
function wordsOf(text: string): { readonly text: string; readonly line: 0; readonly column: 0 }[] {
  const [, modifier, name] = /^(=|~\*|~|\^~)\s+(.+)$/s.exec(text) ?? [];
  const words = modifier === undefined || name === undefined ? [text] : [modifier, name];
  return words.map((word) => ({ text: word, line: 0, column: 0 }));
}

const locationKey = ({ modifier, name }: ReturnType<typeof locationName>): string => `${modifier} ${name}`;
