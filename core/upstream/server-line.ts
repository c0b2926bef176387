import { readDirective } from '../config/conf.js';
import { errorAt } from '../config/errors.js';
import type { RegisteredSpec } from '../config/registry.js';
import type { AnyArgContext } from '../module/spec.js';
import type { Directive } from '../module/tree.js';
import type { ServerLine } from '../module/upstream.js';
import { AddressError, parseAddress, type Address, type ParsedAddress } from '../module/address.js';
import type { Upstream } from './upstream.js';
import type { HostLookup } from './host-lookup.js';
import type { Member, MemberParameters, Peer } from './peer.js';

/** What `server` lines are read with. */
export interface LineContext {
  readonly server: RegisteredSpec;
  readonly args: AnyArgContext;
  readonly lookup: HostLookup;
  /** Port of an address without one. Undefined: it needs one. */
  readonly defaultPort: number | undefined;
  readonly parameters: SharedParameters;
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

/** True if both lines name the same server, whatever their parameters. */
export function isSameServer(one: Directive, other: Directive): boolean {
  return one.args[0]?.text === other.args[0]?.text;
}

/** A `server` line, read: it has one member for each of its addresses. */
export class ServerEntry {
  private constructor(
    readonly directive: Directive,
    private readonly name: string,
    private readonly parameters: MemberParameters,
    private readonly target: ParsedAddress,
  ) {}

  /** @throws ConfigError in nginx's words */
  static read(directive: Directive, { server, args, defaultPort, parameters }: LineContext): ServerEntry {
    const line = readDirective(server.signature, directive, args) as ServerLine;
    try {
      return new ServerEntry(directive, line.server, parameters.of(line), parseAddress(line.server, defaultPort));
    } catch (error) {
      if (error instanceof AddressError) throw errorAt(directive, error.message, directive.args[0]);
      throw error;
    }
  }

  /** Its members; a promise if a name has to be looked up. @throws (rejects) ConfigError `host not found in upstream "x"` */
  lookUp(lookup: HostLookup): readonly Member[] | Promise<readonly Member[]> {
    const { target } = this;
    return 'address' in target ? [this.#member(target.address, 0, false)] : this.#resolve(target.name, target.port, lookup);
  }

  /** Its members, where another thread has looked names up. @param pending of a change that is being prepared */
  lookInto(upstream: Upstream, pending: boolean): readonly Member[] {
    const { target } = this;
    if ('address' in target) return [this.#member(target.address, 0, false)];
    return upstream.addressesOf(this.#key, pending).map((text, index) => {
      const parsed = parseAddress(text, target.port);
      if (!('address' in parsed)) throw new Error(`not an address: "${text}"`);
      return this.#member(parsed.address, index, true);
    });
  }

  /** The same member as `peer`, with the parameters of this line. */
  memberLike({ member }: Peer): Member {
    return this.#member(member.address, member.addressIndex, member.resolved);
  }

  async #resolve(name: string, port: number, lookup: HostLookup): Promise<readonly Member[]> {
    const hosts = await lookup(name).catch(() => []);
    if (hosts.length === 0) throw errorAt(this.directive, `host not found in upstream "${this.name}"`, this.directive.args[0]);
    return hosts.map((host, index) => this.#member({ host, port }, index, true));
  }

  get #key(): number {
    return this.directive.key ?? this.directive.id;
  }

  #member(address: Address, addressIndex: number, resolved: boolean): Member {
    const { directive, name, parameters } = this;
    return { key: this.#key, addressIndex, address, resolved, name, settings: parameters, directive };
  }
}
