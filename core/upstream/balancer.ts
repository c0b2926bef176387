import type { Balancer, BalancingMethod } from '../contract/balancer.js';
import type { Directive } from '../contract/tree.js';
import { BalancedMembers, type ClaimableUpstream } from './balanced-members.js';
import type { Choice } from './choice.js';
import type { ChosenAffinity } from './member-bindings.js';
import { Peer } from './peer.js';

/** Proposals for one choice, before the next member in turn is taken instead. */
const MOST_PROPOSALS = 20;

/** The balancing method of an `upstream` block, and who gave it. */
export interface ChosenMethod extends BalancingMethod {
  /** Name of the module. */
  readonly module: string;
  /** Bindings of clients to members; undefined: there are none. */
  readonly affinity?: ChosenAffinity;
  /** The lines of the block that it follows from: the same ones mean the same method. */
  readonly lines: readonly Directive[];
}

/** Asks the balancer of a module for members. Nothing that the module's code does or throws reaches further. */
export class ModuleBalancer {
  readonly #balancer: Balancer | undefined;
  readonly #members: BalancedMembers;

  constructor(
    private readonly upstream: ClaimableUpstream,
    private readonly method: ChosenMethod,
  ) {
    this.#members = new BalancedMembers(upstream);
    this.#balancer = this.#guard(() => method.create?.(this.#members));
  }

  /** A member, claimed; undefined: none may be chosen. */
  pick(choice: Choice): Peer | undefined {
    for (let proposals = 0; proposals < MOST_PROPOSALS; proposals++) {
      const peer = this.#proposal(choice);
      const { claimed } = choice;
      choice.claimed = undefined;
      if (claimed !== undefined && claimed === peer) return peer;
      if (claimed !== undefined) this.upstream.unclaim(claimed);
      if (peer === undefined) break;
      if (this.upstream.claim(peer)) return peer;
      choice.refuse(peer);
    }
    return this.upstream.claimNext(choice);
  }

  added(peer: Peer): void {
    this.#members.added(peer);
    this.#guard(() => this.#balancer?.added?.(peer));
  }

  changed(peer: Peer): void {
    this.#members.changed(peer);
    this.#guard(() => this.#balancer?.changed?.(peer));
  }

  removed(peer: Peer): void {
    this.#members.removed(peer);
    this.#guard(() => this.#balancer?.removed?.(peer));
  }

  #proposal(choice: Choice): Peer | undefined {
    try {
      const proposed = this.#balancer?.propose(choice);
      if (proposed === undefined || proposed instanceof Peer) return proposed;
      throw new TypeError('"propose" must return a peer of the upstream, or undefined');
    } catch (error) {
      this.upstream.onBalancerError(this.method.module, error);
      return undefined;
    }
  }

  #guard<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.upstream.onBalancerError(this.method.module, error);
      return undefined;
    }
  }
}
