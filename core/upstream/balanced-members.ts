import type { BalancedUpstream, Pick, UpstreamPeer } from '../contract/balancer.js';
import { Choice } from './choice.js';
import type { Peer } from './peer.js';
import { WeightIndex } from './weight-index.js';

/** An upstream that members can be claimed of. */
export interface ClaimableUpstream {
  readonly name: string;
  readonly size: number;
  readonly peers: Iterable<Peer>;
  /** Counts a request on a member, if that may have one more. */
  claim(peer: Peer): boolean;
  /** Gives a member back that was claimed and is not needed. */
  unclaim(peer: Peer): void;
  /** The next member in the order of the upstream, claimed. */
  claimNext(choice: Choice): Peer | undefined;
  onBalancerError(module: string, error: unknown): void;
}

/** An upstream for a module's balancer. */
export class BalancedMembers implements BalancedUpstream {
  /** Made when the balancer asks for it. */
  #weights: WeightIndex | undefined;
  #serving: WeightIndex | undefined;
  readonly #upstream: ClaimableUpstream;

  constructor(upstream: ClaimableUpstream) {
    this.#upstream = upstream;
  }

  get name(): string {
    return this.#upstream.name;
  }

  get size(): number {
    return this.#upstream.size;
  }

  get peers(): Iterable<UpstreamPeer> {
    return this.#upstream.peers;
  }

  get totalWeight(): number {
    return this.#all.total;
  }

  peerAtWeight(point: number): UpstreamPeer | undefined {
    return this.#all.at(point);
  }

  get servingWeight(): number {
    return this.#inService.total;
  }

  servingAtWeight(point: number): UpstreamPeer | undefined {
    return this.#inService.at(point);
  }

  next(pick: Pick): UpstreamPeer | undefined {
    if (!(pick instanceof Choice)) throw new TypeError('"next" must be called with the pick of the proposal');
    if (pick.claimed !== undefined) this.#upstream.unclaim(pick.claimed);
    pick.claimed = this.#upstream.claimNext(pick);
    return pick.claimed;
  }

  added(peer: Peer): void {
    this.#weights?.add(peer);
    this.#serving?.add(peer);
  }

  changed(peer: Peer): void {
    this.#weights?.change(peer);
    this.#serving?.change(peer);
  }

  removed(peer: Peer): void {
    this.#weights?.remove(peer);
    this.#serving?.remove(peer);
  }

  get #all(): WeightIndex {
    return (this.#weights ??= new WeightIndex(this.#upstream.peers, isPrimary));
  }

  get #inService(): WeightIndex {
    return (this.#serving ??= new WeightIndex(this.#upstream.peers, isServing));
  }
}

const isPrimary = ({ backup }: Peer): boolean => !backup;
const isServing = (peer: Peer): boolean => !peer.backup && peer.isServing;
