import type { UpstreamPeer } from '../../core/contract/balancer.js';

/** Name of a member for clients: its `route`, else the MD5 of its address in hexadecimal digits. */
export function routeOf({ route, server }: UpstreamPeer): string {
  if (route !== '') return route;
  return process.getBuiltinModule('node:crypto').createHash('md5').update(server).digest('hex');
}

/** Finds the members of an upstream by their routes. Several may have the same one. */
export class RouteIndex {
  /** The first member of each route. */
  readonly #firsts = new Map<string, UpstreamPeer>();
  /** The other ones, where there are several. */
  readonly #others = new Map<string, UpstreamPeer[]>();
  readonly #routes = new Map<number, string>();

  /** The first usable member of a route; one that is draining if there is no other. */
  find(route: string): UpstreamPeer | undefined {
    const first = this.#firsts.get(route);
    if (first === undefined || this.#others.size === 0 || first.isUsable) return first;
    return this.#others.get(route)?.find((peer) => peer.isUsable) ?? first;
  }

  /** The route of a member. */
  of(peer: UpstreamPeer): string {
    return this.#routes.get(peer.id) ?? routeOf(peer);
  }

  add(peer: UpstreamPeer): void {
    const route = routeOf(peer);
    this.#routes.set(peer.id, route);
    if (!this.#firsts.has(route)) this.#firsts.set(route, peer);
    else this.#others.set(route, [...(this.#others.get(route) ?? []), peer]);
  }

  change(peer: UpstreamPeer): void {
    if (this.#routes.get(peer.id) === routeOf(peer)) return;
    this.remove(peer);
    this.add(peer);
  }

  remove(peer: UpstreamPeer): void {
    const route = this.of(peer);
    this.#routes.delete(peer.id);
    const others = this.#others.get(route) ?? [];
    const [first, ...rest] =
      this.#firsts.get(route) === peer ? others : [this.#firsts.get(route)!, ...others.filter((other) => other !== peer)];
    this.#firsts.delete(route);
    this.#others.delete(route);
    if (first !== undefined) this.#firsts.set(route, first);
    if (rest.length > 0) this.#others.set(route, rest);
  }
}
