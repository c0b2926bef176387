const POLYNOMIAL = 0xedb88320;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ POLYNOMIAL;
  return value;
});

/** CRC-32 (IEEE 802.3) of a string of bytes, continuing after bytes whose CRC is `before`. */
export function crc32(bytes: string, before = 0): number {
  let crc = ~before;
  for (let at = 0; at < bytes.length; at++) crc = table[(crc ^ bytes.charCodeAt(at)) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The same with the four bytes of a number, the least significant first. */
export function crc32OfNumber(number: number, before: number): number {
  let crc = ~before;
  for (let shift = 0; shift < 32; shift += 8) crc = table[(crc ^ (number >>> shift)) & 255]! ^ (crc >>> 8);
  return ~crc >>> 0;
}
