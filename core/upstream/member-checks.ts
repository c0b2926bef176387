import type { CheckedUpstream, HealthChecker, HealthPlan, HealthState } from '../contract/health.js';
import { assertHealthState, CheckedMember, HEALTH_FLAGS } from './checked-member.js';
import type { Peer } from './peer.js';
import type { WatchedUpstream } from './watched-upstream.js';

/** How the members of an `upstream` block are checked, and who says so. */
export interface ChosenHealth extends HealthPlan {
  /** Name of the module. */
  readonly module: string;
}

/** Notifies the checker of a module of the members of an upstream. In the master only. Exceptions of the module's code are caught here. */
export class MemberChecks implements CheckedUpstream {
  #module = '';
  #checker: HealthChecker | undefined;
  #isStarted = false;

  constructor(
    private readonly upstream: WatchedUpstream,
    private readonly onError: (module: string, error: unknown, upstream: WatchedUpstream) => void,
    /** See {@link CheckedPeer.earlier}. */
    private readonly earlierOf: (peer: Peer, upstream: WatchedUpstream) => HealthState | undefined = () => undefined,
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

  /** Switches to another plan; the checker of the one before hands over to it. Without a plan all members get requests again. */
  configure(plan: ChosenHealth | undefined): void {
    const former = this.#checker;
    const takesOver = former !== undefined && plan?.module === this.#module;
    this.#module = plan?.module ?? this.#module;
    this.#checker = this.#guard(() => plan?.create(this, former));
    if (former !== undefined && former !== this.#checker) this.#guard(() => former.stop());
    if (!takesOver && this.#checker !== undefined) this.#admitAll(this.#checker);
    if (this.#isStarted && former !== this.#checker) this.start();
    if (plan === undefined) for (const member of former === undefined ? [] : this.peers) member.turn('up', 'it is not checked any more');
  }

  /** The upstream is active. */
  start(): void {
    this.#isStarted = true;
    this.#guard(() => this.#checker?.start());
  }

  stop(): void {
    this.#isStarted = false;
    this.#guard(() => this.#checker?.stop());
    this.#checker = undefined;
  }

  /** A member comes, and is not active yet. */
  added(peer: Peer): void {
    const checker = this.#checker;
    if (checker === undefined) return;
    const state = this.#firstState(checker, this.#memberOf(peer));
    if (state !== undefined && state !== 'up') this.upstream.turnHealth(peer, HEALTH_FLAGS[state], undefined);
  }

  /** Members older than their checker get requests as before until a check fails: a reload must not take the upstream away. */
  #admitAll(checker: HealthChecker): void {
    for (const member of this.peers)
      if (this.#firstState(checker, member) === 'unhealthy') member.turn('unhealthy', 'it was unhealthy before');
  }

  /** Undefined: the module's code has thrown. */
  #firstState(checker: HealthChecker, member: CheckedMember): HealthState | undefined {
    return this.#guard(() => {
      const state = checker.added(member);
      assertHealthState(state);
      return state;
    });
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
    return (peer.checked ??= new CheckedMember(peer, this.upstream, this.earlierOf(peer, this.upstream)));
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
