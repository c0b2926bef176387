/** The alphabet of crypt(3), which is not that of base64. */
export const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Up to three bytes, the most significant first, as characters of six bits each, the least significant first. */
export function cryptText(bytes: readonly number[]): string {
  let value = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
  let text = '';
  for (let count = Math.ceil((bytes.length * 8) / 6); count > 0; count--) {
    text += ALPHABET[value & 63];
    value >>= 6;
  }
  return text;
}
