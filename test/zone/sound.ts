import type { Zone } from '../../core/zone/zone.js';

/** Checks what must hold for the blocks of a zone at any time. @throws Error that says what does not */
export function assertSound(zone: Zone): void {
  let before: { offset: number; size: number; free: boolean } | undefined;
  let used = 0;
  for (const block of zone.slab.blocks()) {
    if (before && before.offset + before.size + 8 !== block.offset) throw new Error(`gap before ${block.offset}`);
    if (block.before !== (before ? before.offset - 8 : 0)) throw new Error(`block ${block.offset} does not know the one before it`);
    if (before?.free === true && block.free) throw new Error(`two free blocks beside each other at ${block.offset}`);
    if (!block.free) used += block.size + 8;
    before = block;
  }
  if (used !== zone.slab.used) throw new Error(`${used} bytes in use, ${zone.slab.used} counted`);
}
