import type { Affinity, Bindings } from '../module/affinity.js';
import type { HttpRequest } from '../module/http.js';
import type { Choice } from './choice.js';
import { Peer } from './peer.js';

/** What binds the clients of an upstream, and who gave it. */
export interface ChosenAffinity extends Affinity {
  /** Name of the module. */
  readonly module: string;
}

/** An upstream whose members can be claimed for clients that are bound to them. */
export interface BoundUpstream {
  /** Counts a request on a member, if that may have one more; a draining one may. */
  claimBound(peer: Peer): boolean;
  onBalancerError(module: string, error: unknown): void;
}

/** Asks the bindings of a module for members. Nothing that the module's code does or throws reaches further. */
export class MemberBindings {
  readonly #bindings: Bindings | undefined;

  constructor(
    private readonly upstream: BoundUpstream,
    private readonly affinity: ChosenAffinity,
  ) {
    this.#bindings = this.#guard(() => affinity.create());
  }

  /** The member that the client is bound to, claimed; undefined: there is none, or it cannot be had. */
  pick(choice: Choice): Peer | undefined {
    const { request } = choice;
    if (request === undefined) return undefined;
    try {
      const peer = this.#bindings?.find(request);
      if (peer === undefined || choice.wasTried(peer)) return undefined;
      if (!(peer instanceof Peer)) throw new TypeError('"find" must return a peer of the upstream, or undefined');
      return this.upstream.claimBound(peer) ? peer : undefined;
    } catch (error) {
      this.upstream.onBalancerError(this.affinity.module, error);
      return undefined;
    }
  }

  responded(request: HttpRequest, peer: Peer): void {
    this.#guard(() => this.#bindings?.responded?.(request, peer));
  }

  completed(request: HttpRequest, peer: Peer): void {
    this.#guard(() => this.#bindings?.completed?.(request, peer));
  }

  added(peer: Peer): void {
    this.#guard(() => this.#bindings?.added?.(peer));
  }

  changed(peer: Peer): void {
    this.#guard(() => this.#bindings?.changed?.(peer));
  }

  removed(peer: Peer): void {
    this.#guard(() => this.#bindings?.removed?.(peer));
  }

  #guard<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.upstream.onBalancerError(this.affinity.module, error);
      return undefined;
    }
  }
}
