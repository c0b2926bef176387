import type { Balancer, Pick, UpstreamPeer } from '../balancer.js';
import { crc32, crc32OfNumber } from './crc32.js';
import type { KeyOf } from './modulo.js';
import { Ring } from './ring.js';

/** Points of a member for each unit of its weight. */
const POINTS = 160;
/** Members that were not usable, after which the next one in turn is taken. */
const TRIES = 20;

/** The members of one `server` line: a name may have several addresses, which share its points. */
interface Server {
  readonly name: string;
  readonly peers: UpstreamPeer[];
  points: number;
}

/** Where a request is on the ring. */
interface Walk {
  point: number;
  tries: number;
  /** Of the ring, when the point was found. */
  readonly version: number;
}

/** Consistent hashing with the points of Cache::Memcached::Fast with ketama_points 160: a change of one member moves only its share of the keys. */
export class KetamaHash implements Balancer {
  readonly #ring = new Ring<Server>();
  readonly #servers = new Map<string, Server>();
  /** Counts changes: what a request remembers of the ring holds for one version. */
  #version = 0;

  constructor(private readonly keyOf: KeyOf) {}

  added(peer: UpstreamPeer): void {
    const { name } = peer;
    const server = this.#servers.get(name) ?? { name, peers: [], points: 0 };
    this.#servers.set(name, server);
    server.peers.push(peer);
    this.#setPoints(server);
  }

  changed(peer: UpstreamPeer): void {
    const server = this.#servers.get(peer.name);
    if (server !== undefined) this.#setPoints(server);
  }

  removed(peer: UpstreamPeer): void {
    const server = this.#servers.get(peer.name);
    const at = server?.peers.indexOf(peer) ?? -1;
    if (server === undefined || at < 0) return;
    server.peers.splice(at, 1);
    this.#setPoints(server);
    if (server.peers.length > 0) return;
    this.#servers.delete(server.name);
    this.#ring.forget(server);
  }

  propose(pick: Pick): UpstreamPeer | undefined {
    let walk = pick.state as Walk | undefined;
    if (walk === undefined || walk.version !== this.#version) {
      const key = this.keyOf(pick);
      if (key === undefined) return undefined;
      walk = { point: this.#ring.find(crc32(key)), tries: walk?.tries ?? 0, version: this.#version };
      pick.state = walk;
    }
    while (walk.point >= 0 && walk.tries < TRIES) {
      const peer = usable(this.#ring.ownerOf(walk.point), pick);
      if (peer !== undefined) return peer;
      walk.point = this.#ring.after(walk.point);
      walk.tries++;
    }
    return undefined;
  }

  /** Gives a server the points for the weight that it has now. Each follows from the one before. */
  #setPoints(server: Server): void {
    const points = Math.max(0, ...server.peers.map(({ weight }) => weight)) * POINTS;
    const base = crc32(hostAndPort(server.name));
    this.#version++;
    let place = 0;
    for (let point = 0; point < Math.max(points, server.points); point++) {
      place = crc32OfNumber(place, base);
      if (point >= server.points) this.#ring.add(place, server);
      else if (point >= points) this.#ring.remove(place, server);
    }
    server.points = points;
  }
}

/** What the points of a server are made of: its host, a zero byte, its port. */
function hostAndPort(name: string): string {
  if (name.startsWith('unix:')) return `${name.slice('unix:'.length)}\0`;
  const [, host = name, port = ''] = /^(.*):(\d+)$/.exec(name) ?? [];
  return `${host}\0${port}`;
}

/** Of the members of one server the least loaded usable one. */
function usable(server: Server | undefined, pick: Pick): UpstreamPeer | undefined {
  let best: UpstreamPeer | undefined;
  for (const peer of server?.peers ?? []) {
    if (pick.wasTried(peer) || !peer.isUsable) continue;
    if (best === undefined || peer.active * best.weight < best.active * peer.weight) best = peer;
  }
  return best;
}
