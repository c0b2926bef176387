/** Members of an upstream for unit tests of balancing methods. */
import type { Address } from '../core/contract/address.js';
import type { BalancedUpstream, Balancer, BalancingMethod, Pick, UpstreamPeer } from '../core/contract/balancer.js';
import type { HttpRequest } from '../core/contract/http.js';

/** A member whose load and state a test sets. */
export class FakePeer implements UpstreamPeer {
  readonly server: string;
  readonly name: string;
  weight = 1;
  route = '';
  backup = false;
  isServing = true;
  effectiveWeight = 1;
  active = 0;
  connectTime = 0;
  headerTime = 0;
  responseTime = 0;
  isUsable = true;
  readonly #spare = [0, 0];

  /** @param id its number, its place in the order, and its address: 10.0.0.id */
  constructor(readonly id: number) {
    this.server = `10.0.0.${id}:80`;
    this.name = `10.0.0.${id}`;
  }

  get order(): number {
    return this.id;
  }

  get address(): Address {
    return { host: this.name, port: 80 };
  }

  spare(index: number): number {
    return this.#spare[index] ?? 0;
  }

  setSpare(index: number, value: number): void {
    this.#spare[index] = value;
  }
}

/** An upstream, and the balancer that a method makes for it. */
export class FakeUpstream implements BalancedUpstream {
  readonly name = 'fake';
  readonly peers: FakePeer[] = [];
  readonly #balancer: Balancer | undefined;
  #turn = 0;

  constructor(method: BalancingMethod) {
    this.#balancer = method.create?.(this);
  }

  get size(): number {
    return this.peers.length;
  }

  get totalWeight(): number {
    return this.#first.reduce((sum, { weight }) => sum + weight, 0);
  }

  peerAtWeight(point: number): FakePeer | undefined {
    let left = point;
    return this.#first.find(({ weight }) => (left -= weight) < 0);
  }

  get servingWeight(): number {
    return this.#serving.reduce((sum, { weight }) => sum + weight, 0);
  }

  servingAtWeight(point: number): FakePeer | undefined {
    let left = point;
    return this.#serving.find(({ weight }) => (left -= weight) < 0);
  }

  /** The next usable member in turn, weights left aside; backup members last. */
  next(pick: Pick): FakePeer | undefined {
    const fit = this.peers.filter((peer) => peer.isUsable && !pick.wasTried(peer));
    const first = fit.filter(({ backup }) => !backup);
    const among = first.length > 0 ? first : fit;
    return among[this.#turn++ % Math.max(among.length, 1)];
  }

  /** Adds a member. @param settings what it is to have: `{ weight: 2, active: 5 }` */
  add(settings: Partial<Omit<FakePeer, 'id' | 'order' | 'address' | 'server' | 'name'>> = {}): FakePeer {
    const peer = Object.assign(new FakePeer((this.peers.at(-1)?.id ?? 0) + 1), settings);
    if (settings.effectiveWeight === undefined) peer.effectiveWeight = peer.weight;
    this.peers.push(peer);
    this.#balancer?.added?.(peer);
    return peer;
  }

  /** Changes parameters of a member. */
  change(peer: FakePeer, settings: Parameters<FakeUpstream['add']>[0]): void {
    Object.assign(peer, settings);
    this.#balancer?.changed?.(peer);
  }

  remove(peer: FakePeer): void {
    this.peers.splice(this.peers.indexOf(peer), 1);
    this.#balancer?.removed?.(peer);
  }

  /** The member that a request gets: the one that is proposed, or the next one in turn. Its requests are not counted. */
  pick(request?: HttpRequest, tried: readonly UpstreamPeer[] = []): UpstreamPeer | undefined {
    const pick: Pick = { request, wasTried: (peer) => tried.includes(peer), state: undefined };
    return this.#balancer?.propose(pick) ?? this.next(pick);
  }

  get #first(): FakePeer[] {
    return this.peers.filter(({ backup }) => !backup);
  }

  get #serving(): FakePeer[] {
    return this.#first.filter(({ isServing }) => isServing);
  }
}
