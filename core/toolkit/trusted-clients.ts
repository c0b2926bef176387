/** Clients that are trusted, by address or by name: `set_real_ip_from`. */
import { plainAddress } from '../contract/binary-address.js';
import { argType } from '../contract/arg-type.js';
import { parseClients, parseNetwork, type Clients } from '../contract/network.js';
import type { BlockScope } from '../contract/scope.js';
import type { HostNames } from '../contract/host-names.js';
import type { Log } from '../contract/log.js';
import type { ServerInfo } from '../contract/server-info.js';
import { ArgError, type ArgType, type Directives } from '../contract/spec.js';
import type { Directive } from '../contract/tree.js';

/** Addresses, or the name of a host that has some. */
export type TrustedClient = Clients | { readonly name: string };

const NAME = /^[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?\.?$/i;

/** An address, a network in CIDR form, `unix:`, or the name of a host. */
export function trustedClients(directive: string): ArgType<TrustedClient> {
  return argType({
    kind: 'text',
    form: 'address | CIDR | unix: | name',
    parse(value, { warn }) {
      if (value === 'unix:' || parseNetwork(value) !== undefined) return parseClients(value, warn);
      if (!NAME.test(value) || /^[\d.]+$/.test(value)) throw new ArgError(notFound(directive, value), HINT);
      return { name: value };
    },
  });
}

const HINT = 'an address, a network such as 10.0.0.0/8 or 2001:db8::/32, "unix:", or the name of a host';

const notFound = (directive: string, name: string): string => `host not found in ${directive} "${name}"`;

/** Trusted clients in the scopes of one module. A name is looked up once for its line, when that takes effect. */
export class TrustedNames {
  readonly #found = new WeakMap<Directive, NamedHost>();

  /** @param directive whose lines name the clients */
  constructor(
    private readonly directive: string,
    private readonly hosts: HostNames,
    private readonly info: ServerInfo,
    private readonly log: Log,
  ) {}

  /** The rules of a scope. @param trusted what the current lines there say */
  compile(scope: Pick<BlockScope<Directives, string, never>, 'lines' | 'fail' | 'register'>, trusted: readonly TrustedClient[]): Clients[] {
    const lines = scope.lines(this.directive);
    return trusted.map((client, at) => {
      const line = lines[at];
      return typeof client === 'function' || line === undefined ? (client as Clients) : this.#named(scope, line, client.name).isTrusted;
    });
  }

  #named(scope: Pick<BlockScope<Directives, string, never>, 'fail' | 'register'>, line: Directive, name: string): NamedHost {
    const known = this.#found.get(line);
    if (known !== undefined) return known;
    const host = new NamedHost();
    this.#found.set(line, host);
    const ready = this.hosts.resolve(name).then(
      (addresses) => void (host.addresses = new Set(addresses)),
      () => {
        const message = notFound(this.directive, name);
        // The master has found it: a worker that takes the place of another one starts without.
        if (this.info.role === 'worker') this.log.write('error', `${message}: it is not trusted`);
        else scope.fail(message, line, HINT);
      },
    );
    scope.register({ ready, abort: () => void this.#found.delete(line) });
    return host;
  }
}

class NamedHost {
  addresses: ReadonlySet<string> = new Set();

  readonly isTrusted: Clients = (address) => this.addresses.has(plainAddress(address));
}
