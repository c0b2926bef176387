import type { Affinity, Bindings } from '../contract/affinity.js';
import type { HttpRequest } from '../contract/http.js';
import type { Choice } from './choice.js';
import { Peer } from './peer.js';

/** Bindings of an upstream's clients, and their module. */
export interface ChosenAffinity extends Affinity {
  /** Name of the module. */
  readonly module: string;
}

/** The upstream whose clients are bound. */
export interface BoundUpstream {
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

  /** The member that the client is bound to; undefined: there is none, or the request has tried it. */
  find(choice: Choice): Peer | undefined {
    const { request } = choice;
    if (request === undefined) return undefined;
    try {
      const peer = this.#bindings?.find(request);
      if (peer === undefined || choice.wasTried(peer)) return undefined;
      if (peer instanceof Peer) return peer;
      throw new TypeError('"find" must return a peer of the upstream, or undefined');
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
