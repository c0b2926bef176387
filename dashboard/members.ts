/** Members: whether they are usable, why not, since when, and whether they are slow. */
import { codesText, ms, percent } from './format.js';
import type { Live } from './live.js';
import type { FailingRow, Peer, SlowMember, Statistics, Upstream } from './types.js';

/** States in which a member gets requests. */
const USABLE = new Set(['up', 'checking']);
/** It was asked for. */
const PLANNED = new Set(['down', 'draining']);
/** Slower than the others by this factor, and by this many milliseconds. */
const SLOW_FACTOR = 3;
const SLOW_MS = 50;

/** As {@link SlowMember} has it; without statistics nobody knows since when. */
export type Slowness = Pick<SlowMember, 'time' | 'reference' | 'than'> & { readonly since?: number };

export function isUsable({ state }: Peer): boolean {
  return USABLE.has(state);
}

export function isPlanned({ state }: Peer): boolean {
  return PLANNED.has(state);
}

export function memberWhy(live: Live, { engine, name }: Upstream, peer: Peer): string {
  const event = live.reasonOf(engine, name, peer.server);
  if (peer.state === 'unhealthy') return peer.health_checks.last_error ?? event?.reason ?? 'health checks have failed';
  if (peer.state === 'unavail')
    return event?.reason ?? `${peer.fails === 1 ? '1 failed attempt' : `${peer.fails} failed attempts`}: max_fails reached`;
  if (peer.state === 'down') return 'set to down';
  if (peer.state === 'draining') return `drain: ${peer.active} requests left`;
  if (peer.state === 'resolving') return 'its name has no address yet';
  if (peer.state === 'checking') return 'waits for its first health check';
  return peer.health_checks.fails > 0 && peer.health_checks.last_error !== undefined
    ? `last failed health check: ${peer.health_checks.last_error}`
    : '';
}

export function memberSince(live: Live, { engine, name }: Upstream, peer: Peer): number | undefined {
  const time = peer.downstart ?? live.reasonOf(engine, name, peer.server)?.time;
  return time === undefined ? undefined : Date.parse(time);
}

export function slowText({ time, reference, than }: Slowness): string {
  return `first byte after ${ms(time)}; ${than === 'others' ? 'the others need' : 'usually'} ${ms(reference)}`;
}

export function failingText({ errors, requests, codes }: FailingRow): string {
  return `${percent(errors, requests)} of its responses are 5xx: ${codesText(codes)}`;
}

/** Members of an upstream that are not usable, and are not meant to be. */
export function isReduced({ peers }: Upstream): boolean {
  return peers.some((peer) => !isUsable(peer) && !isPlanned(peer));
}

/** Members whose responses are errors, by their upstream and address, as the server has found them. */
export class FailingMembers {
  readonly #found = new Map<string, FailingRow>();

  constructor(statistics: Statistics | undefined) {
    for (const row of statistics?.failing ?? []) {
      const engine = row.section === 'upstreams' ? 'http' : row.section === 'stream_upstreams' ? 'stream' : undefined;
      if (engine !== undefined && row.part !== undefined && row.errors > 0) this.#found.set(keyOf(engine, row.name, row.part), row);
    }
  }

  /** Those of an upstream by their id. */
  of({ engine, name, peers }: Upstream): ReadonlyMap<number, FailingRow> {
    const found = new Map<number, FailingRow>();
    if (this.#found.size === 0) return found;
    for (const { id, server } of peers) {
      const row = this.#found.get(keyOf(engine, name, server));
      if (row !== undefined) found.set(id, row);
    }
    return found;
  }
}

/** Slow members by their upstream and address, as the server has found them. */
export class SlowMembers {
  readonly #found = new Map<string, SlowMember>();
  readonly #isKnown: boolean;

  constructor(statistics: Statistics | undefined) {
    this.#isKnown = Object.keys(statistics?.servers ?? {}).length > 0;
    for (const member of statistics?.slow ?? []) this.#found.set(keyOf(member.engine, member.upstream, member.server), member);
  }

  /** Slow members of an upstream by their id. Where nothing is counted, those with a mean time far above the others. */
  of(upstream: Upstream): ReadonlyMap<number, Slowness> {
    if (!this.#isKnown) return compared(upstream);
    if (this.#found.size === 0) return NONE;
    return new Map(
      upstream.peers.flatMap(({ id, server }) => {
        const found = this.#found.get(keyOf(upstream.engine, upstream.name, server));
        return found === undefined ? [] : [[id, found] as const];
      }),
    );
  }
}

const NONE: ReadonlyMap<number, Slowness> = new Map();
const keyOf = (...parts: readonly string[]): string => parts.join('\0');

function compared({ peers }: Upstream): ReadonlyMap<number, Slowness> {
  const times = peers.filter(isUsable).flatMap(({ response_time: time }) => (time > 0 ? [time] : []));
  if (times.length < 2) return NONE;
  const reference = times.sort((one, other) => one - other)[Math.floor((times.length - 1) / 2)] ?? 0;
  const limit = Math.max(reference * SLOW_FACTOR, reference + SLOW_MS);
  return new Map(
    peers.flatMap((peer) =>
      isUsable(peer) && peer.response_time > limit
        ? [[peer.id, { time: peer.response_time, reference, than: 'others' as const }] as const]
        : [],
    ),
  );
}
