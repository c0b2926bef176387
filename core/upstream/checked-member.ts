import { inspect } from 'node:util';
import type { CheckedPeer, HealthFigures, HealthState } from '../contract/health.js';
import { F, Flag, W } from './layout.js';
import { NO_CHECKS } from './no-figures.js';
import type { Peer } from './peer.js';
import type { WatchedUpstream } from './watched-upstream.js';
import { numberOf, wordOf } from '../zone/offsets.js';

export const HEALTH_FLAGS = {
  up: 0,
  checking: Flag.CHECKING,
  unhealthy: Flag.UNHEALTHY,
} as const satisfies Readonly<Record<HealthState, number>>;

/** Modules in JavaScript may say anything. @throws TypeError */
export function assertHealthState(state: unknown): asserts state is HealthState {
  if (typeof state === 'string' && Object.hasOwn(HEALTH_FLAGS, state)) return;
  throw new TypeError(`a health state must be one of ${Object.keys(HEALTH_FLAGS).join(', ')}, not ${inspect(state, { depth: 0 })}`);
}

/** A member as its health checker sees it. In the master only. */
export class CheckedMember implements CheckedPeer {
  /** Made with the first check: most upstreams of a large configuration have none. */
  #figures: { -readonly [K in keyof HealthFigures]: HealthFigures[K] } | undefined = undefined;

  /** @param earlier see {@link CheckedPeer.earlier} */
  constructor(
    private readonly peer: Peer,
    private readonly upstream: WatchedUpstream,
    readonly earlier: HealthState | undefined,
  ) {}

  get id(): number {
    return this.peer.id;
  }

  get address(): Peer['address'] {
    return this.peer.address;
  }

  get server(): string {
    return this.peer.server;
  }

  get name(): string {
    return this.peer.name;
  }

  get isDown(): boolean {
    return this.peer.member.settings.down;
  }

  get health(): HealthState {
    const flags = this.#word(W.flags);
    return (flags & Flag.UNHEALTHY) !== 0 ? 'unhealthy' : (flags & Flag.CHECKING) !== 0 ? 'checking' : 'up';
  }

  get succeeded(): number {
    return this.#number(F.requests) - this.#word(W.active) - this.#word(W.failed);
  }

  get selected(): number {
    return this.#number(F.selected);
  }

  get figures(): HealthFigures {
    return this.#figures ?? NO_CHECKS;
  }

  count(error: string | undefined): void {
    const figures = (this.#figures ??= { ...NO_CHECKS });
    figures.checks++;
    figures.lastPassed = error === undefined;
    figures.lastAt = Date.now();
    if (error === undefined) return;
    figures.fails++;
    figures.lastError = error;
  }

  turn(state: HealthState, reason: string): void {
    assertHealthState(state);
    if (this.peer.removed || this.health === state) return;
    if (state === 'unhealthy') (this.#figures ??= { ...NO_CHECKS }).unhealthy++;
    this.upstream.turnHealth(this.peer, HEALTH_FLAGS[state], reason);
  }

  /** Takes over what another program knew of its checks; counts are added. */
  add({ checks = 0, fails = 0, unhealthy = 0, ...last }: Partial<HealthFigures>): void {
    const { checks: checksBefore, fails: failsBefore, unhealthy: before } = this.figures;
    const counts = { checks: checksBefore + checks, fails: failsBefore + fails, unhealthy: before + unhealthy };
    this.#figures = { ...this.figures, ...counts, ...last };
  }

  /** Sets the figures to zero. */
  reset(): void {
    this.#figures = undefined;
  }

  #word(word: W): number {
    return this.upstream.memory.zone.u32[wordOf(this.peer.offset) + word]!;
  }

  #number(number: F): number {
    return this.upstream.memory.zone.f64[numberOf(this.peer.offset) + number]!;
  }
}
