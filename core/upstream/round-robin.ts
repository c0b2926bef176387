import type { Balancer, BalancerUpstream } from './balancer.js';
import type { Peer } from './peer.js';
import type { Rotation, Tried } from './rotation.js';

/** Smooth weighted round robin (the default), the same sequence for all workers of an upstream with a zone. Backup members only when no other is left. */
export class RoundRobin implements Balancer {
  constructor(private readonly upstream: BalancerUpstream) {}

  pick(now: number, tried: readonly Peer[] | undefined): Peer | undefined {
    const { primary, backup } = this.upstream.memory;
    return this.#pickFrom(primary, now, tried) ?? this.#pickFrom(backup, now, tried);
  }

  #pickFrom(rotation: Rotation, now: number, tried: readonly Peer[] | undefined): Peer | undefined {
    const record = rotation.pick(now, tried);
    return record === 0 ? undefined : (this.upstream.peerAt(record) ?? this.#pickKnown(rotation, now, tried, record));
  }

  /** The rotation holds a member that this thread does not know. A change is prepared everywhere before it is in force, so it should not. */
  #pickKnown(rotation: Rotation, now: number, tried: readonly Peer[] | undefined, unknown: number): Peer | undefined {
    const skipped: Tried[] = [...(tried ?? []), { offset: unknown, removed: false }];
    for (;;) {
      const record = rotation.pick(now, skipped);
      const peer = record === 0 ? undefined : this.upstream.peerAt(record);
      if (record === 0 || peer !== undefined) return peer;
      skipped.push({ offset: record, removed: false });
    }
  }
}
