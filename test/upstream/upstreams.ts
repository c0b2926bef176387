import { CoarseClock } from '../../core/net/clock.js';
import { Choice } from '../../core/upstream/choice.js';
import { Upstream } from '../../core/upstream/upstream.js';
import type { UpstreamOptions } from '../../core/upstream/upstream-options.js';
import { UpstreamMemory } from '../../core/upstream/upstream-memory.js';
import { DEFAULT_KEEPALIVE } from '../../core/upstream/keepalive.js';
import type { Member } from '../../core/upstream/member.js';
import type { Peer } from '../../core/upstream/peer.js';
import { Zone } from '../../core/zone/zone.js';

/** A clock that stands until it is told to go on. */
export class StandingClock extends CoarseClock {
  /** The time that is seen when somebody looks again. */
  later = 0;
  constructor(public override now = 1_000_000) {
    super();
  }
  override refresh(): number {
    return (this.now = Math.max(this.now, this.later));
  }
}

export function member(key: number, settings: Partial<Member['settings']> = {}): Member {
  const whole = {
    weight: 1,
    maxConns: 0,
    maxFails: 1,
    failTimeout: 10_000,
    backup: false,
    down: false,
    drain: false,
    slowStart: 0,
    route: '',
    ...settings,
  };
  return {
    key,
    addressIndex: 0,
    address: { host: '10.0.0.1', port: key },
    resolved: false,
    name: `10.0.0.1:${key}`,
    settings: whole,
    directive: undefined,
  };
}

/** The choice for a request that has tried these. */
export function after(...tried: readonly Peer[]): Choice {
  const choice = new Choice(undefined);
  for (const peer of tried) choice.exclude(peer);
  return choice;
}

export interface TestGroup {
  readonly upstream: Upstream;
  readonly clock: StandingClock;
  readonly zone: Zone;
  /** Keys of the members that became unavailable, in order. */
  readonly unavailable: number[];
}

export function upstreamOf(
  members: readonly Member[],
  { zone = Zone.create('g', 1 << 20), ...options }: Partial<UpstreamOptions> & { zone?: Zone } = {},
): TestGroup {
  const clock = new StandingClock();
  const unavailable: number[] = [];
  const memory = UpstreamMemory.create(zone, 'g');
  if (!memory) throw new Error('zone too small');
  const upstream = new Upstream('g', memory, {
    clock,
    worker: 0,
    owner: true,
    keepalive: DEFAULT_KEEPALIVE,
    onUnavailable: (peer) => unavailable.push(peer.member.key),
    ...options,
  });
  upstream.updates.load(members);
  return { upstream, clock, zone, unavailable };
}
