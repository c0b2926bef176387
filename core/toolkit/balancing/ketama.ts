import type { Balancer, Pick, UpstreamPeer } from '../../contract/balancer.js';
import { crc32, crc32OfNumber } from './crc32.js';
import type { KeyOf } from './modulo.js';
import { Ring } from './ring.js';

/** Points of a member for each unit of its weight. */
const POINTS = 160;
/** Members that were not usable, after which the next one in turn is taken. */
const TRIES = 20;

/** The members of one `server` line, where a name has several addresses: they share its points. */
class Server {
  constructor(
    readonly name: string,
    readonly peers: readonly UpstreamPeer[],
  ) {}

  /** The least loaded usable one. */
  usable(pick: Pick): UpstreamPeer | undefined {
    let best: UpstreamPeer | undefined;
    for (const peer of this.peers)
      if (isUsable(peer, pick) && (best === undefined || peer.active * best.weight < best.active * peer.weight)) best = peer;
    return best;
  }
}

/** Most names have one address: its member is what a point leads to. */
type Owner = UpstreamPeer | Server;

/** Points and state of a name. */
interface Share {
  readonly peers: readonly UpstreamPeer[];
  /** Undefined: all its members are out of service. */
  readonly owner: Owner | undefined;
  readonly points: number;
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
  readonly #ring = new Ring<Owner>();
  /** By the name. */
  readonly #shares = new Map<string, Share>();
  /** Counts changes: what a request remembers of the ring holds for one version. */
  #version = 0;

  constructor(private readonly keyOf: KeyOf) {}

  added(peer: UpstreamPeer): void {
    this.#set(peer.name, [...this.#peersOf(peer.name), peer]);
  }

  changed(peer: UpstreamPeer): void {
    this.#set(peer.name, this.#peersOf(peer.name));
  }

  removed(peer: UpstreamPeer): void {
    const peers = this.#peersOf(peer.name).filter((other) => other !== peer);
    this.#set(peer.name, peers);
    if (peers.length === 0) this.#shares.delete(peer.name);
  }

  propose(pick: Pick): UpstreamPeer | undefined {
    let walk = pick.state as Walk | undefined;
    if (walk === undefined || walk.version !== this.#version) {
      const key = this.keyOf(pick);
      if (key === undefined || key === '') return undefined;
      walk = { point: this.#ring.find(crc32(key)), tries: walk?.tries ?? 0, version: this.#version };
      pick.state = walk;
    }
    while (walk.point >= 0 && walk.tries < TRIES) {
      const owner = this.#ring.ownerOf(walk.point);
      if (owner instanceof Server) {
        const peer = owner.usable(pick);
        if (peer !== undefined) return peer;
      } else if (owner !== undefined && isUsable(owner, pick)) return owner;
      walk.point = this.#ring.after(walk.point);
      walk.tries++;
    }
    return undefined;
  }

  #peersOf(name: string): readonly UpstreamPeer[] {
    return this.#shares.get(name)?.peers ?? [];
  }

  /**
   * Gives a name these members, and the points for the weight that they have now. Each point follows from the one before. Members out of
   * service have none: their keys find the next ones at once.
   */
  #set(name: string, peers: readonly UpstreamPeer[]): void {
    const before = this.#shares.get(name);
    const serving = peers.filter(({ isServing }) => isServing);
    const [first, second] = serving;
    const owner = second === undefined ? first : new Server(name, serving);
    const points = Math.max(0, ...serving.map(({ weight }) => weight)) * POINTS;
    this.#version++;
    this.#shares.set(name, { peers, owner, points });
    const former = before?.owner;
    if (former !== undefined && owner !== undefined) this.#ring.replace(former, owner);
    const present = owner ?? former;
    if (present === undefined) return;
    this.#place(present, before?.points ?? 0, points);
    if (owner === undefined) this.#ring.forget(present);
  }

  #place(owner: Owner, had: number, points: number): void {
    const base = crc32(hostAndPort(owner.name));
    let place = 0;
    for (let point = 0; point < Math.max(points, had); point++) {
      place = crc32OfNumber(place, base);
      if (point >= had) this.#ring.add(place, owner);
      else if (point >= points) this.#ring.remove(place, owner);
    }
  }
}

/** Input of a server's points: its host, a zero byte, its port. */
function hostAndPort(name: string): string {
  if (name.startsWith('unix:')) return `${name.slice('unix:'.length)}\0`;
  const [, host = name, port = ''] = /^(.*):(\d+)$/.exec(name) ?? [];
  return `${host}\0${port}`;
}

const isUsable = (peer: UpstreamPeer, pick: Pick): boolean => !pick.wasTried(peer) && peer.isUsable;
