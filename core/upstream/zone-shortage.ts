import { Slab } from '../zone/slab.js';
import { recordBytes } from './layout.js';
import type { UpstreamMemory } from './upstream-memory.js';

/** An upstream whose zone is full. */
interface Crowded {
  readonly name: string;
  /** Current members. */
  readonly size: number;
  readonly memory: UpstreamMemory;
}

/**
 * Says that the zone of an upstream is full.
 * @param added new members that have found room in it, while all that are active still have theirs
 * @param missing how many more there are
 */
export function zoneShortage(upstream: Crowded, added: number, missing: number): string {
  const { zone, workers } = upstream.memory;
  const needed = Math.ceil((zone.size + missing * Slab.cost(recordBytes(workers))) / 4096) * 4;
  const more = missing === 1 ? 'one more needs' : `${missing} more need`;
  return `zone "${zone.name}" is too small: ${zoneUsage(upstream, added)} fill its ${zone.size} bytes; ${more} ${needed}k at least`;
}

/** Use of the zone's memory. @param added members beside the current ones */
function zoneUsage({ name, size, memory }: Crowded, added: number): string {
  const own = size > 0 && added > 0 ? `${members(size)} now and ${added} new` : members(size + added);
  return memory.zone.directory.size === 1 ? own : `${own} of upstream "${name}", with what other upstreams have there,`;
}

const members = (count: number): string => (count === 1 ? '1 member' : `${count} members`);
