const FACTOR = 0x5bd1e995;
const SHIFT = 24;

/** MurmurHash2 by Austin Appleby, 32 bits, seed 0, of a string of bytes (latin1). */
export function murmurHash2(bytes: string): number {
  const { length } = bytes;
  let hash = length;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const block =
      bytes.charCodeAt(at) | (bytes.charCodeAt(at + 1) << 8) | (bytes.charCodeAt(at + 2) << 16) | (bytes.charCodeAt(at + 3) << 24);
    const mixed = Math.imul(block, FACTOR);
    hash = Math.imul(hash, FACTOR) ^ Math.imul(mixed ^ (mixed >>> SHIFT), FACTOR);
  }
  if (at < length) {
    for (let byte = length - 1; byte >= at; byte--) hash ^= bytes.charCodeAt(byte) << ((byte - at) * 8);
    hash = Math.imul(hash, FACTOR);
  }
  hash = Math.imul(hash ^ (hash >>> 13), FACTOR);
  return (hash ^ (hash >>> 15)) >>> 0;
}
