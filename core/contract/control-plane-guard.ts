import type { Address } from './address.js';

/** Keeps clients of the data plane away from the control plane: connections that the core makes are checked, a module checks its own. */
export abstract class ControlPlaneGuard {
  /**
   * Why a connection to this address must not be made, for operators; undefined: it may be. To be asked right before connecting, with an address
   * that was looked up already.
   */
  abstract rejection(address: Address): string | undefined;
}
