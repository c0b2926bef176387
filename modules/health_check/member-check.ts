import { formatAddress, type Address } from '../../core/contract/address.js';
import type { CheckedPeer, HealthState } from '../../core/contract/health.js';
import type { CheckRunner } from './check-runner.js';
import type { CheckSettings } from './check-settings.js';
import { PassCounter } from './pass-counter.js';
import type { CheckFailure, Probe } from './probe.js';
import type { Scheduled } from './schedule.js';

/** Hears of the checks of a member. */
export interface CheckListener {
  /** @param turned the check says something else of the member now */
  checked(check: MemberCheck, failure: CheckFailure | undefined, turned: boolean): void;
}

/** One check of one member: when it is due, what is under way, and what the last ones have found. */
export class MemberCheck implements Scheduled {
  due = 0;
  place = -1;
  readonly #counter: PassCounter;
  #probe: Probe | undefined;
  #succeeded = 0;
  #isActive = false;

  /** @param state that the member begins with */
  constructor(
    readonly peer: CheckedPeer,
    public settings: CheckSettings,
    state: HealthState,
    private readonly runner: CheckRunner,
    private readonly listener: CheckListener,
  ) {
    this.#counter = new PassCounter(state);
  }

  get state(): HealthState {
    return this.#counter.state;
  }

  /** Checks are made, or one is due. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Other settings for the same check. @param mayWait false: the member need not pass to get its first request */
  configure(settings: CheckSettings, mayWait: boolean): void {
    const { interval, jitter } = this.settings.timing;
    this.settings = settings;
    if (!mayWait && this.state === 'checking') this.#counter.state = 'up';
    const isRescheduled = settings.timing.interval !== interval || settings.timing.jitter !== jitter;
    if (isRescheduled && this.#isActive && this.#probe === undefined) this.start(settings.timing.interval);
  }

  /** The checked member. */
  get address(): Address {
    const { address } = this.peer;
    const { port } = this.settings.timing;
    return port === undefined || 'path' in address ? address : { host: address.host, port };
  }

  /** For messages. */
  get server(): string {
    return formatAddress(this.address);
  }

  /** The first check is made within `spread` milliseconds. */
  start(spread: number): void {
    this.#isActive = true;
    this.#succeeded = this.peer.succeeded;
    this.runner.forget(this);
    this.runner.schedule.set(this, Math.random() * spread);
  }

  /** No more checks, until it is started again. */
  stop(): void {
    this.#isActive = false;
    this.runner.forget(this);
    if (this.#probe === undefined) return;
    this.#probe.cancel();
    this.#probe = undefined;
    this.runner.end();
  }

  onDue(): void {
    if (this.#probe !== undefined) this.#finish(this.#probe.expire());
    else if (this.#isVisited()) this.#next();
    else this.runner.begin(this);
  }

  run(): void {
    this.runner.schedule.set(this, this.settings.timing.timeout);
    this.#probe = this.settings.probe(this.address, (failure) => this.#finish(failure));
  }

  #finish(failure: CheckFailure | undefined): void {
    this.#probe = undefined;
    this.#next();
    const { passes, fails } = this.settings.timing;
    const turned = failure?.isOwn !== true && this.#counter.count(failure === undefined, passes, fails);
    this.listener.checked(this, failure, turned);
    this.runner.end();
  }

  #next(): void {
    const { interval, jitter } = this.settings.timing;
    this.runner.schedule.set(this, interval + Math.random() * jitter);
  }

  /** Requests have succeeded on it since the last look, and the last one is not long ago. */
  #isVisited(): boolean {
    const { visit_interval: visitInterval } = this.settings.timing;
    if (visitInterval === 0) return false;
    const { succeeded, selected } = this.peer;
    const before = this.#succeeded;
    this.#succeeded = succeeded;
    return this.state === 'up' && succeeded > before && Math.abs(Date.now() - selected) <= visitInterval;
  }
}
