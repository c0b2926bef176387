import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Log } from '../../contract/log.js';
import type { NameServer } from '../../toolkit/resolver.js';
import type { ServerWatch } from './inquiry.js';

/** Milliseconds for which a server that failed is asked after the others. */
const PENALTY = 30_000;
/** Milliseconds for which the addresses of a name server that is given by name are used. */
const TRUST = 60_000;
/** Milliseconds until such a name is looked up again that could not be. */
const RETRY = 1000;

/** The name servers of a resolver, and which of them failed lately. */
export class NameServers implements ServerWatch {
  #addresses: readonly NameServer[];
  /** Until when one that failed comes after the others. */
  readonly #penalties = new Map<NameServer, number>();
  #turn = 0;
  #until: number;
  #lookups: Promise<void> | undefined;
  /** Names that were not found when they were last looked up. */
  readonly #unknown = new Set<string>();

  /** @param servers addresses, or names that the system looks up when they are needed @param now monotonic milliseconds @param log gets names that cannot be found */
  constructor(
    private readonly servers: readonly NameServer[],
    private readonly now: () => number,
    private readonly log?: Pick<Log, 'write'>,
  ) {
    const hasNames = servers.some(({ address }) => isIP(address) === 0);
    this.#addresses = hasNames ? [] : servers;
    this.#until = hasNames ? -Infinity : Infinity;
  }

  /** A promise as long as names of servers are being looked up, which does not reject. */
  ready(): Promise<void> | undefined {
    if (this.now() < this.#until) return undefined;
    this.#lookups ??= this.#lookUp().finally(() => (this.#lookups = undefined));
    // Servers found before are used meanwhile.
    return this.#addresses.length === 0 ? this.#lookups : undefined;
  }

  /** In the order to ask them: each comes first in turn, servers that failed lately come last. Empty: none of their names could be looked up. */
  inOrder(): readonly NameServer[] {
    const first = this.#turn++ % Math.max(this.#addresses.length, 1);
    const inTurn = [...this.#addresses.slice(first), ...this.#addresses.slice(0, first)];
    if (this.#penalties.size === 0) return inTurn;
    const now = this.now();
    const isWell = (server: NameServer): boolean => (this.#penalties.get(server) ?? 0) <= now;
    return [...inTurn.filter(isWell), ...inTurn.filter((server) => !isWell(server))];
  }

  replied(server: NameServer): void {
    this.#penalties.delete(server);
  }

  failed(server: NameServer): void {
    this.#penalties.set(server, this.now() + PENALTY);
  }

  async #lookUp(): Promise<void> {
    const found = await Promise.all(this.servers.map((server) => this.#addressesOf(server)));
    const addresses = found.flat();
    this.#until = this.now() + (addresses.length === 0 ? RETRY : TRUST);
    if (addresses.length === 0) return;
    this.#addresses = addresses;
    this.#penalties.clear();
  }

  async #addressesOf(server: NameServer): Promise<readonly NameServer[]> {
    const { address: name, port } = server;
    if (isIP(name) !== 0) return [server];
    const found = await lookup(name, { all: true }).catch(() => []);
    if (found.length > 0) this.#unknown.delete(name);
    else if (!this.#unknown.has(name)) {
      this.#unknown.add(name);
      this.log?.write('error', `host not found in resolver "${name}"`);
    }
    return found.map(({ address }) => ({ address, port }));
  }
}
