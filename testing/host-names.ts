/** Names of hosts, and addresses that must not be connected to, for unit tests. */
import type { Address } from '../core/contract/address.js';
import { ControlPlaneGuard } from '../core/contract/control-plane-guard.js';
import { HostNames } from '../core/contract/host-names.js';

/** Knows the names that the test gives it. */
export class FakeHostNames extends HostNames {
  /** Names that were looked up. */
  readonly asked: string[] = [];

  /** @param addresses by name, which a test may change */
  constructor(private readonly addresses: Readonly<Record<string, readonly string[]>>) {
    super();
  }

  async resolve(name: string): Promise<readonly string[]> {
    this.asked.push(name);
    const found = this.addresses[name];
    if (found === undefined) throw new Error(`${name} could not be resolved (3: Host not found)`);
    return found;
  }
}

/** Rejects the addresses of the control plane, which the test names. */
export class FakeControlPlaneGuard extends ControlPlaneGuard {
  /** @param ports of the control plane, on any host */
  constructor(private readonly ports: readonly number[] = []) {
    super();
  }

  rejection(address: Address): string | undefined {
    if (!('port' in address) || !this.ports.includes(address.port)) return undefined;
    return `${address.host}:${address.port} is an address of the control plane`;
  }
}
