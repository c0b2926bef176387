/** The virtual current servers, for modules that look at the configuration as requests meet it. */
import type { Directive } from './tree.js';

export interface VirtualServerView {
  readonly directive: Directive;
  /** Where it listens: `0.0.0.0:80`, `[::]:80`, `unix:/run/a.sock`. */
  readonly addresses: readonly string[];
  /** As `server_name` has them. */
  readonly names: readonly string[];
}

export abstract class VirtualServers {
  /** In the order of their addresses. */
  abstract all(): Iterable<VirtualServerView>;
  /**
   * The servers that listen on an address, the default server first.
   * @param address as `listen` takes it: `80`, `*:80`, `[::]:80`
   * @throws ArgError
   */
  abstract at(address: string): readonly VirtualServerView[];
  /**
   * The one that has a name at an address; without a name the default server.
   * @param name as `server_name` has it: also a wildcard or a regular expression
   * @throws ArgError
   */
  abstract find(address: string, name: string | undefined): VirtualServerView | undefined;
  /** Locations and servers that pass requests to an upstream, each with the blocks around it, the outermost first. */
  abstract usersOf(upstream: string): Iterable<readonly Directive[]>;
}
