import type { HttpRequest } from './http.js';

/** Looks up names of hosts that requests bring. Waits in no thread of the pool. */
export abstract class HostNames {
  /**
   * The addresses of a name, IPv6 and IPv4 in turn: from the servers of `resolver`, where the request is in a scope that has one, otherwise
   * from `/etc/hosts` and the name servers of the system. They are remembered for as long as DNS allows.
   * @throws Error (rejects) `no-such.example could not be resolved (3: Host not found)`, in nginx's words
   */
  abstract resolve(name: string, request?: HttpRequest): Promise<readonly string[]>;
}
