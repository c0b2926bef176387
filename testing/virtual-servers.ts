/** Servers of a configuration, for unit tests. */
import type { Directive } from '../core/contract/tree.js';
import { VirtualServers, type VirtualServerView } from '../core/contract/virtual-servers.js';

/** The servers that the test gives it. Addresses and names are compared as they are written. */
export class FakeVirtualServers extends VirtualServers {
  /**
   * @param servers in the order of the configuration: the first one with an address is its default server
   * @param users by name of an upstream
   */
  constructor(
    private readonly servers: readonly VirtualServerView[],
    private readonly users: Readonly<Record<string, readonly (readonly Directive[])[]>> = {},
  ) {
    super();
  }

  all(): Iterable<VirtualServerView> {
    return this.servers;
  }

  at(address: string): readonly VirtualServerView[] {
    return this.servers.filter(({ addresses }) => addresses.includes(address));
  }

  find(address: string, name: string | undefined): VirtualServerView | undefined {
    const servers = this.at(address);
    return name === undefined ? servers[0] : servers.find(({ names }) => names.includes(name));
  }

  usersOf(upstream: string): Iterable<readonly Directive[]> {
    return this.users[upstream] ?? [];
  }
}
