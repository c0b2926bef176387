import type { Peer } from './peer.js';
import type { Rotation, Tried } from './rotation.js';
import type { UpstreamMemory } from './upstream-memory.js';

/** Finds the peers of records. */
interface PeerTable {
  readonly memory: UpstreamMemory;
  /** The peer whose record is at this offset; undefined if this thread does not know it. */
  peerAt(record: number): Peer | undefined;
}

/**
 * The next member in the order of an upstream, the same sequence for all workers of one with a zone: smooth weighted round robin (the default)
 * or the least loaded. Backup members only when no other is left. Called with the zone's lock held.
 */
export function nextPeer(table: PeerTable, now: number, tried: readonly Peer[] | undefined): Peer | undefined {
  const { primary, backup } = table.memory;
  return nextOf(table, primary, now, tried) ?? nextOf(table, backup, now, tried);
}

function nextOf(table: PeerTable, rotation: Rotation, now: number, tried: readonly Peer[] | undefined): Peer | undefined {
  const record = rotation.pick(now, tried);
  return record === 0 ? undefined : (table.peerAt(record) ?? nextKnown(table, rotation, now, tried, record));
}

/** The rotation holds a member that this thread does not know. A change is prepared everywhere before it is active, so it should not. */
function nextKnown(
  table: PeerTable,
  rotation: Rotation,
  now: number,
  tried: readonly Peer[] | undefined,
  unknown: number,
): Peer | undefined {
  const skipped: Tried[] = [...(tried ?? []), { offset: unknown, removed: false }];
  for (;;) {
    const record = rotation.pick(now, skipped);
    const peer = record === 0 ? undefined : table.peerAt(record);
    if (record === 0 || peer !== undefined) return peer;
    skipped.push({ offset: record, removed: false });
  }
}
