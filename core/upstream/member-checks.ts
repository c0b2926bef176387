import type { CheckedUpstream, HealthChecker, HealthPlan } from '../module/health.js';
import { CheckedMember, HEALTH_FLAGS } from './checked-member.js';
import type { Peer } from './peer.js';
import type { Upstream } from './upstream.js';

/** How the members of an `upstream` block are checked, and who says so. */
export interface ChosenHealth extends HealthPlan {
  /** Name of the module. */
  readonly module: string;
}

/** Tells the checker of a module of the members of an upstream. In the master only. Nothing that the module's code throws reaches further. */
export class MemberChecks implements CheckedUpstream {
  #module = '';
  #checker: HealthChecker | undefined;

  constructor(
    private readonly upstream: Upstream,
    private readonly onError: (module: string, error: unknown, upstream: Upstream) => void,
  ) {}

  get name(): string {
    return this.upstream.name;
  }

  get size(): number {
    return this.upstream.size;
  }

  get peers(): Iterable<CheckedMember> {
    return this.#members();
  }

  /** Puts another plan in force; the checker of the one before hands over to it. Without a plan all members get requests again. */
  configure(plan: ChosenHealth | undefined): void {
    const former = this.#checker;
    this.#module = plan?.module ?? this.#module;
    this.#checker = this.#guard(() => plan?.create(this, former));
    if (former !== undefined && former !== this.#checker) this.#guard(() => former.stop());
    if (plan === undefined) for (const member of former === undefined ? [] : this.peers) member.turn('up', 'it is not checked any more');
  }

  /** The upstream is in force. */
  start(): void {
    this.#guard(() => this.#checker?.start());
  }

  stop(): void {
    this.#guard(() => this.#checker?.stop());
    this.#checker = undefined;
  }

  /** A member comes, and is not in force yet. */
  added(peer: Peer): void {
    const checker = this.#checker;
    if (checker === undefined) return;
    const state = this.#guard(() => checker.added(this.#memberOf(peer)));
    if (state !== undefined && state !== 'up') this.upstream.turnHealth(peer, HEALTH_FLAGS[state], undefined);
  }

  changed(peer: Peer): void {
    const checker = this.#checker;
    if (checker !== undefined) this.#guard(() => checker.changed(this.#memberOf(peer)));
  }

  removed(peer: Peer): void {
    const checker = this.#checker;
    if (checker !== undefined) this.#guard(() => checker.removed(this.#memberOf(peer)));
  }

  *#members(): Generator<CheckedMember> {
    for (const peer of this.upstream.peers) yield this.#memberOf(peer);
  }

  #memberOf(peer: Peer): CheckedMember {
    return (peer.checked ??= new CheckedMember(peer, this.upstream));
  }

  #guard<T>(step: () => T): T | undefined {
    try {
      return step();
    } catch (error) {
      this.onError(this.#module, error, this.upstream);
      return undefined;
    }
  }
}
