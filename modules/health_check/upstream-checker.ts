import type { CheckedPeer, CheckedUpstream, HealthChecker, HealthState } from '../../core/contract/health.js';
import type { Log } from '../../core/contract/log.js';
import type { CheckRunner } from './check-runner.js';
import type { CheckSettings, HealthSettings } from './check-settings.js';
import { MemberCheck, type CheckListener } from './member-check.js';
import type { CheckFailure } from './probe.js';

/** Surroundings of all checkers. */
export interface CheckerContext {
  readonly runner: CheckRunner;
  readonly log: Log;
}

/** State of members by their addresses, for an upstream that moves to another zone. */
export type KnownStates = ReadonlyMap<string, HealthState>;

/** Checks the members of one upstream. A member is up if all checks say so. */
export class UpstreamChecker implements HealthChecker, CheckListener {
  readonly #members = new Map<CheckedPeer, readonly MemberCheck[]>();
  #isStarted = false;

  constructor(
    private readonly upstream: CheckedUpstream,
    private settings: HealthSettings,
    private readonly context: CheckerContext,
    private readonly known: KnownStates,
    private readonly onStop: () => void,
  ) {}

  /** The upstream is active. */
  get isStarted(): boolean {
    return this.#isStarted;
  }

  /** State of the members. */
  get states(): KnownStates {
    return new Map(Array.from(this.#members, ([peer, checks]) => [peer.server, worst(checks)]));
  }

  /** Other checks, or other settings of them. The state of the members stays; one that is up stays so until a new check fails. */
  configure(settings: HealthSettings): void {
    this.settings = settings;
    for (const peer of this.upstream.peers) this.#configure(peer);
  }

  start(): void {
    this.#isStarted = true;
    for (const checks of this.#members.values()) for (const check of checks) this.#start(check);
  }

  added(peer: CheckedPeer): HealthState {
    const { checks } = this.settings;
    if (checks.length === 0) return 'up';
    const state = this.#firstState(peer);
    this.#members.set(
      peer,
      checks.map((settings) => this.#checkOf(peer, settings, state)),
    );
    return state;
  }

  changed(peer: CheckedPeer): void {
    for (const check of this.#members.get(peer) ?? []) {
      if (peer.isDown) check.stop();
      else if (!check.isActive) this.#start(check);
    }
  }

  removed(peer: CheckedPeer): void {
    for (const check of this.#members.get(peer) ?? []) check.stop();
    this.#members.delete(peer);
  }

  stop(): void {
    for (const checks of this.#members.values()) for (const check of checks) check.stop();
    this.#members.clear();
    this.onStop();
  }

  checked(check: MemberCheck, failure: CheckFailure | undefined, turned: boolean): void {
    const { peer } = check;
    if (failure?.isOwn === true) return this.#write('error', `cannot check: ${failure.reason}`, failure, check);
    peer.count(failure === undefined ? undefined : `${failure.reason} while ${failure.step}`);
    if (!turned) {
      if (failure !== undefined) this.#write('info', failure.reason, failure, check);
      return undefined;
    }
    if (failure === undefined) this.#write('notice', 'peer is healthy', failure, check);
    else this.#write('warn', 'peer is unhealthy', failure, check);
    return this.#turn(peer, failure === undefined ? `health check "${check.settings.label}" passed` : reasonOf(check, failure));
  }

  #configure(peer: CheckedPeer): void {
    const { checks, isMandatory } = this.settings;
    const before = this.#members.get(peer) ?? [];
    // Before the upstream is active, no member is up that has not passed.
    const first = isMandatory && !this.#isStarted ? this.#firstState(peer) : 'up';
    const now = checks.map((settings) => {
      const same = before.find((one) => one.settings.name === settings.name);
      same?.configure(settings, isMandatory);
      return same ?? this.#checkOf(peer, settings, first);
    });
    for (const check of before) if (!now.includes(check)) check.stop();
    if (now.length > 0) this.#members.set(peer, now);
    else this.#members.delete(peer);
    this.#turn(peer, 'its health checks were changed');
  }

  #firstState({ server, earlier }: CheckedPeer): HealthState {
    if (earlier !== undefined) return earlier;
    const { isMandatory, isPersistent } = this.settings;
    const known = this.known.get(server);
    if (known === 'unhealthy' || (known !== undefined && isPersistent)) return known;
    return isMandatory ? 'checking' : 'up';
  }

  #checkOf(peer: CheckedPeer, settings: CheckSettings, state: HealthState): MemberCheck {
    const check = new MemberCheck(peer, settings, state, this.context.runner, this);
    if (this.#isStarted) this.#start(check);
    return check;
  }

  /** The first checks of many members are spread: a millisecond for each, within the interval. */
  #start(check: MemberCheck): void {
    if (!check.peer.isDown) check.start(Math.min(check.settings.timing.interval, this.upstream.size));
  }

  #turn(peer: CheckedPeer, reason: string): void {
    peer.turn(worst(this.#members.get(peer) ?? []), reason);
  }

  #write(level: Parameters<Log['write']>[0], text: string, failure: CheckFailure | undefined, check: MemberCheck): void {
    const step = failure === undefined ? '' : ` while ${failure.step}`;
    const reason = failure === undefined || text.endsWith(failure.reason) ? '' : `: ${failure.reason}`;
    const { settings, server } = check;
    this.context.log.write(
      level,
      `${text}${step}, health check "${settings.label}" of peer ${server} in upstream "${this.upstream.name}"${reason}`,
    );
  }
}

function worst(checks: readonly MemberCheck[]): HealthState {
  if (checks.some(({ state }) => state === 'unhealthy')) return 'unhealthy';
  return checks.some(({ state }) => state === 'checking') ? 'checking' : 'up';
}

const reasonOf = (check: MemberCheck, { reason, step }: CheckFailure): string =>
  `health check "${check.settings.label}": ${reason} while ${step}`;
