import type { UpstreamPeer } from '../../core/module/balancer.js';

/** What names a member to clients: its `route`, else the MD5 of its address in hexadecimal digits. */
export function routeOf({ route, server }: UpstreamPeer): string {
  if (route !== '') return route;
  return process.getBuiltinModule('node:crypto').createHash('md5').update(server).digest('hex');
}

/** Finds the members of an upstream by their routes. Several may have the same one. */
export class RouteIndex {
  readonly #peers = new Map<string, UpstreamPeer[]>();
  readonly #routes = new Map<number, string>();

  /** The first usable member of a route; one that is draining if there is no other. */
  find(route: string): UpstreamPeer | undefined {
    const peers = this.#peers.get(route);
    return peers?.find((peer) => peer.isUsable) ?? peers?.[0];
  }

  /** The route of a member. */
  of(peer: UpstreamPeer): string {
    return this.#routes.get(peer.id) ?? routeOf(peer);
  }

  add(peer: UpstreamPeer): void {
    const route = routeOf(peer);
    this.#routes.set(peer.id, route);
    const peers = this.#peers.get(route);
    if (peers === undefined) this.#peers.set(route, [peer]);
    else peers.push(peer);
  }

  change(peer: UpstreamPeer): void {
    if (this.#routes.get(peer.id) === routeOf(peer)) return;
    this.remove(peer);
    this.add(peer);
  }

  remove(peer: UpstreamPeer): void {
    const route = this.of(peer);
    const rest = (this.#peers.get(route) ?? []).filter((other) => other !== peer);
    if (rest.length === 0) this.#peers.delete(route);
    else this.#peers.set(route, rest);
    this.#routes.delete(peer.id);
  }
}
