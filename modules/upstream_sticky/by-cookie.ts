import type { Bindings } from '../../core/contract/affinity.js';
import type { UpstreamPeer } from '../../core/contract/balancer.js';
import type { HttpRequest, Template } from '../../core/contract/http.js';
import { RouteIndex } from './route-index.js';

const LAST_TIME = 'Thu, 31 Dec 2037 23:55:55 GMT';
/** Ten years, as nginx has it. Seconds. */
const LONGEST = 315_360_000;

/** The cookie of `sticky cookie`. */
export interface StickyCookie {
  readonly name: string;
  /** Seconds, or undefined: until the client ends. */
  readonly expires: number | 'max' | undefined;
  readonly domain: Template | undefined;
  readonly path: string | undefined;
  /** Empty: none. */
  readonly sameSite: Template | undefined;
  /** `; httponly; secure` as far as given. */
  readonly flags: string;
}

/** `sticky cookie`: a cookie of the server's own names the member. */
export class ByCookie implements Bindings {
  readonly #routes = new RouteIndex();
  readonly #variable: string;

  constructor(private readonly cookie: StickyCookie) {
    this.#variable = `cookie_${cookie.name}`;
  }

  find(request: HttpRequest): UpstreamPeer | undefined {
    const route = request.variable(this.#variable);
    return route === undefined ? undefined : this.#routes.find(route);
  }

  /** Sends the cookie to a client that does not have it, and again where it would expire otherwise. */
  responded(request: HttpRequest, peer: UpstreamPeer): void {
    const { cookie } = this;
    const route = this.#routes.of(peer);
    if (request.parent !== undefined || (cookie.expires === undefined && request.variable(this.#variable) === route)) return;
    const domain = cookie.domain?.of(request) ?? '';
    const sameSite = cookie.sameSite?.of(request) ?? '';
    const parts = [
      `${cookie.name}=${route}`,
      ...expiryOf(cookie.expires),
      ...(domain === '' ? [] : [`domain=${domain}`]),
      ...(cookie.path === undefined ? [] : [`path=${cookie.path}`]),
      ...(sameSite === '' ? [] : [`samesite=${sameSite}`]),
    ];
    request.response.append('Set-Cookie', parts.join('; ') + cookie.flags);
  }

  added(peer: UpstreamPeer): void {
    this.#routes.add(peer);
  }

  changed(peer: UpstreamPeer): void {
    this.#routes.change(peer);
  }

  removed(peer: UpstreamPeer): void {
    this.#routes.remove(peer);
  }
}

function expiryOf(expires: StickyCookie['expires']): string[] {
  if (expires === undefined) return [];
  if (expires === 'max') return [`expires=${LAST_TIME}`, `max-age=${LONGEST}`];
  return [`expires=${new Date(Date.now() + expires * 1000).toUTCString()}`, `max-age=${expires}`];
}
