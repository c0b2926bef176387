import { readDirective } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import type { RegisteredSpec } from '../config/registry.js';
import type { AnyArgContext } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';
import type { ServerLine } from '../toolkit/upstream.js';
import { AddressError, parseAddress, type Address, type ParsedAddress } from '../contract/address.js';
import type { Upstream } from './upstream.js';
import type { HostLookup } from './host-lookup.js';
import { addressOf, parametersOf, type NumberedAddress } from './discovery/found-address.js';
import type { FoundRecords } from './discovery/found-records.js';
import { queryOf, type NameQuery } from './discovery/name-query.js';
import type { Member, MemberParameters } from './member.js';
import type { Peer } from './peer.js';
import type { MemberSources } from './member-sources.js';
import type { UpstreamBlock } from './upstream-block.js';

/** Stands for the port of a name whose port is in records. */
const NO_PORT = 1;

/** Reader of `server` lines. */
export interface LineContext {
  readonly server: RegisteredSpec;
  readonly args: AnyArgContext;
  readonly lookup: HostLookup;
  /** Port of an address without one. Undefined: it needs one. */
  readonly defaultPort: number | undefined;
  readonly parameters: SharedParameters;
  /** The addresses that a name is known to have by now, for a line with `resolve`. Its name is looked up later, and again and again. */
  readonly known: (entry: ServerEntry, block: UpstreamBlock) => readonly NumberedAddress[];
  /** Where the members of lines with `members_from` come from. */
  readonly sources: MemberSources;
}

/** Makes the parameters of lines, one object for lines in a row that say the same: most do. */
export class SharedParameters {
  #last: MemberParameters | undefined;

  of(line: ServerLine): MemberParameters {
    const parameters = {
      weight: line.weight,
      maxConns: line.max_conns,
      maxFails: line.max_fails,
      failTimeout: line.fail_timeout,
      backup: line.backup ?? false,
      down: line.down ?? false,
      drain: line.drain ?? false,
      slowStart: line.slow_start,
      route: line.route,
    };
    const last = this.#last;
    if (last !== undefined && PARAMETERS.every((name) => last[name] === parameters[name])) return last;
    this.#last = parameters;
    return parameters;
  }
}

const PARAMETERS = ['weight', 'maxConns', 'maxFails', 'failTimeout', 'backup', 'down', 'drain', 'slowStart', 'route'] as const;

/** True if both lines name the same server, whatever other parameters they have. */
export function isSameServer(one: Directive, other: Directive): boolean {
  return one.args[0]?.text === other.args[0]?.text && lookupWords(one) === lookupWords(other);
}

/** Parameters that say how the name of a server is looked up. */
function lookupWords({ args }: Directive): string {
  const words = args
    .map(({ text }) => text)
    .filter((text) => text === 'resolve' || text.startsWith('service=') || text.startsWith('members_from='));
  return words.toSorted().join(' ');
}

/** A `server` line, read: it has one member for each of its addresses. */
export class ServerEntry {
  private constructor(
    readonly directive: Directive,
    readonly name: string,
    readonly parameters: MemberParameters,
    private readonly target: ParsedAddress,
    /** Query that is repeated (`resolve`); undefined: its addresses are fixed. */
    readonly query: NameQuery | undefined,
  ) {}

  /** @throws ConfigError in nginx's words */
  static read(directive: Directive, { server, args, defaultPort, parameters }: LineContext): ServerEntry {
    const line = readDirective(server.signature, directive, args) as ServerLine;
    try {
      // The ports of a service are those of its records, and a source has ports as well.
      const target = parseAddress(line.server, line.service === '' && line.members_from === '' ? defaultPort : NO_PORT);
      return new ServerEntry(directive, line.server, parameters.of(line), target, queryOf(directive, line, target));
    } catch (error) {
      if (error instanceof AddressError) throw errorAt(directive, error.message, directive.args[0]);
      throw error;
    }
  }

  /** Its members; a promise if a name has to be looked up. @param block that it is to be in @throws (rejects) ConfigError `host not found in upstream "x"` */
  lookUp({ lookup, known }: LineContext, block?: UpstreamBlock): readonly Member[] | Promise<readonly Member[]> {
    if (this.query !== undefined) return block === undefined ? [] : known(this, block).map((address) => this.memberAt(address));
    const { target } = this;
    return 'address' in target ? [this.#member(target.address, 0, false)] : this.#resolve(target.name, target.port, lookup);
  }

  /** The member at an address that its name was resolved to. */
  memberAt({ index, found }: NumberedAddress): Member {
    const { directive, name, parameters } = this;
    const settings = parametersOf(parameters, found);
    return { key: this.key, addressIndex: index, address: addressOf(found), resolved: true, found, name, settings, directive };
  }

  /** Its members, where another thread has looked names up. @param records of its upstream @param pending of a change that is being prepared */
  lookInto(upstream: Upstream, pending: boolean, records: FoundRecords): readonly Member[] {
    if (this.query !== undefined) return records.of(this.key).map((address) => this.memberAt(address));
    const { target } = this;
    if ('address' in target) return [this.#member(target.address, 0, false)];
    return upstream.addressesOf(this.key, pending).map((text, index) => {
      const parsed = parseAddress(text, target.port);
      if (!('address' in parsed)) throw new Error(`not an address: "${text}"`);
      return this.#member(parsed.address, index, true);
    });
  }

  /** The same member as `peer`, with the parameters of this line. */
  memberLike({ member }: Peer): Member {
    if (member.found !== undefined) return this.memberAt({ index: member.addressIndex, found: member.found });
    return this.#member(member.address, member.addressIndex, member.resolved);
  }

  async #resolve(name: string, port: number, lookup: HostLookup): Promise<readonly Member[]> {
    const hosts = await lookup(name).catch(() => []);
    if (hosts.length === 0) throw errorAt(this.directive, `host not found in upstream "${this.name}"`, this.directive.args[0]);
    return hosts.map((host, index) => this.#member({ host, port }, index, true));
  }

  /** Lasting identity of the line in its upstream. */
  get key(): number {
    return this.directive.key ?? this.directive.id;
  }

  #member(address: Address, addressIndex: number, resolved: boolean): Member {
    const { directive, name, parameters } = this;
    return { key: this.key, addressIndex, address, resolved, name, settings: parameters, directive };
  }
}
