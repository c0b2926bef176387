/** Texts in a zone: their length in bytes, then UTF-8. Called with its lock. */
import { wordOf } from '../zone/offsets.js';
import type { Zone } from '../zone/zone.js';

/** Copies a text into the zone. 0: the zone is full. */
export function storeText(zone: Zone, text: string): number {
  const bytes = Buffer.from(text);
  const offset = zone.slab.alloc(4 + bytes.length);
  if (offset === 0) return 0;
  zone.u32[wordOf(offset)] = bytes.length;
  zone.bytes.set(bytes, offset + 4);
  return offset;
}

export function readText(zone: Zone, offset: number): string {
  return Buffer.from(zone.bytes.slice(offset + 4, offset + 4 + zone.u32[wordOf(offset)]!)).toString();
}
