import { bindProbe } from '../net/bind-probe.js';
import type { Finding } from '../master/master-parent.js';
import type { SocketRequest } from '../net/socket-source.js';
import type { PassedDescriptor } from './activation.js';
import { adoptPassed, placeText, plainHost, type PassedSocket } from './passed-socket.js';

const ANY_IPV4 = '0.0.0.0';
const ANY_IPV6 = '::';

/**
 * Sockets that systemd has opened. They stay open as long as this process runs, also while no server listens on them: systemd has them open as
 * well, and no other process could bind the address.
 */
export class ActivatedSockets {
  readonly #sockets: PassedSocket[] = [];
  readonly #used = new Set<PassedSocket>();
  readonly #faults: Finding[] = [];
  /** Result for an address: the same for all callers. */
  readonly #found = new Map<string, PassedSocket>();

  constructor(passed: readonly PassedDescriptor[]) {
    for (const one of passed) {
      try {
        this.#sockets.push(adoptPassed(one));
      } catch (error) {
        this.#faults.push({ level: 'error', text: `${titleOf(one)} of systemd cannot be used: ${(error as Error).message}` });
      }
    }
  }

  /** For another parent. */
  get passed(): readonly PassedDescriptor[] {
    return this.#sockets.map(({ raw, name }) => ({ descriptor: raw.fd, name }));
  }

  /** The socket of an address; undefined: systemd has none. */
  async find(request: SocketRequest): Promise<PassedSocket | undefined> {
    const place = placeText({ ...request, host: plainHost(request.host) });
    const found = this.#found.get(place) ?? this.#at(place) ?? (await this.#dualStack(request));
    if (found === undefined) return undefined;
    this.#found.set(place, found);
    this.#used.add(found);
    return found;
  }

  /** True: the unix socket at that path is one of them. */
  hasPath(path: string): boolean {
    return this.#sockets.some(({ place }) => place.path === path);
  }

  /** Errors of the sockets, at the first call. All users have asked for theirs by then. */
  takeFindings(): readonly Finding[] {
    const faults = this.#faults.splice(0);
    const unused = this.#sockets.filter((socket) => !this.#used.has(socket));
    for (const socket of unused) {
      this.#used.add(socket);
      faults.push({ level: 'warn', text: `${titleOf(socket)} of systemd, ${placeText(socket.place)}, is not used: no "listen" names it` });
    }
    return faults;
  }

  #at(place: string): PassedSocket | undefined {
    return this.#sockets.find((socket) => placeText(socket.place) === place);
  }

  /** `ListenStream=80` is a socket for IPv6 and IPv4, unless the unit or the system has another setting. */
  async #dualStack(request: SocketRequest): Promise<PassedSocket | undefined> {
    if (request.host !== ANY_IPV4) return undefined;
    const both = this.#at(placeText({ ...request, host: ANY_IPV6 }));
    if (both === undefined) return undefined;
    try {
      await bindProbe(request);
      return undefined;
    } catch {
      return both;
    }
  }
}

function titleOf({ descriptor, name }: PassedDescriptor): string {
  return `socket ${descriptor}${name === '' ? '' : ` (${name})`}`;
}
