/**
 * Lookup tables over byte values. A table gives in one load what takes a chain of comparisons several, and an index that is
 * out of range (the NaN of `charCodeAt` after the end, or a character beyond a byte) gives undefined, which is in no class.
 */

/** Characters with a meaning. Constants of the compiler: an imported one is read from memory each time, which costs time in a loop over bytes. */
export const enum Char {
  HTAB = 0x09,
  LF = 0x0a,
  CR = 0x0d,
  SP = 0x20,
  COMMA = 0x2c,
  COLON = 0x3a,
  DEL = 0x7f,
}

const ALPHA = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const DIGIT = '0123456789';

/** 1 for the characters of `members`, 0 for all others. */
function charClass(members: string): Uint8Array {
  const table = new Uint8Array(256);
  for (let i = 0; i < members.length; i++) table[members.charCodeAt(i)] = 1;
  return table;
}

/** 1 for every byte from `first` up except DEL. */
function printableFrom(first: number): Uint8Array {
  const table = new Uint8Array(256).fill(1, first);
  table[0x7f] = 0;
  return table;
}

/** tchar (RFC 9110, 5.6.2): what field names and connection options are made of. */
export const TOKEN: Uint8Array = charClass(`!#$%&'*+-.^_\`|~${DIGIT}${ALPHA}`);

/** Characters that nginx accepts in names of request fields by default; and with underscores, which many applications treat as hyphens. */
export const PLAIN_NAME: Uint8Array = charClass(`-${DIGIT}${ALPHA}`);
export const NAME_WITH_UNDERSCORES: Uint8Array = charClass(`-_${DIGIT}${ALPHA}`);

/** Characters of names that are dropped instead of rejected, as in nginx: anything but controls, space and the colon that ends it. */
export const ODD_NAME: Uint8Array = printableFrom(0x21);
ODD_NAME[Char.COLON] = 0;

/** Methods as nginx takes them: upper-case letters, hyphen, underscore. Stricter than the token of RFC 9110, 9.1. */
export const METHOD: Uint8Array = charClass('ABCDEFGHIJKLMNOPQRSTUVWXYZ-_');

/** Request target: anything but controls, DEL and space. Bytes from 0x80 up pass, as in nginx. */
export const TARGET: Uint8Array = printableFrom(0x21);

/** Field values and reason phrases (RFC 9110, 5.5): visible characters, obs-text, space and HTAB. */
export const VALUE: Uint8Array = printableFrom(0x20);
VALUE[Char.HTAB] = 1;

/** reg-name of RFC 3986, 3.2.2, and bytes from 0x80 up, as in nginx. No `@`: a Host has no user information. */
export const REG_NAME: Uint8Array = charClass(`-._~%!$&'()*+,;=${DIGIT}${ALPHA}`).fill(1, 0x80);

/** Value of a hexadecimal digit, 255 for everything else. */
export const HEX: Uint8Array = new Uint8Array(256).fill(255);
for (let i = 0; i < 16; i++) {
  HEX['0123456789abcdef'.charCodeAt(i)] = i;
  HEX['0123456789ABCDEF'.charCodeAt(i)] = i;
}

/** ASCII lower case; everything else stays. */
export const LOWER: Uint8Array = Uint8Array.from({ length: 256 }, (_, c) => (c >= 0x41 && c <= 0x5a ? c + 0x20 : c));

/** True if `text` has, at `at`, the characters of `lower` in any case. `lower` is in lower case. */
export function equalsIgnoreCase(text: string, at: number, lower: string): boolean {
  for (let i = 0; i < lower.length; i++) {
    if (LOWER[text.charCodeAt(at + i)] !== lower.charCodeAt(i)) return false;
  }
  return true;
}

/** The bytes of a name in lower case, to compare with. */
export const nameBytes = (lower: string): Uint8Array => Uint8Array.from(lower, (c) => c.charCodeAt(0));

/** Names and words that say something about framing or the connection. */
export const TE = nameBytes('te');
export const HOST = nameBytes('host');
export const EXPECT = nameBytes('expect');
export const UPGRADE = nameBytes('upgrade');
export const CONNECTION = nameBytes('connection');
export const KEEP_ALIVE = nameBytes('keep-alive');
export const CONTENT_LENGTH = nameBytes('content-length');
export const PROXY_CONNECTION = nameBytes('proxy-connection');
export const TRANSFER_ENCODING = nameBytes('transfer-encoding');
export const CHUNKED = nameBytes('chunked');
export const CLOSE = nameBytes('close');
export const CONTINUE = nameBytes('100-continue');

/** True if `bytes` has, at `at`, the characters of `lower` in any case. `lower` is in lower case. */
export function startsIgnoreCase(bytes: Uint8Array, at: number, lower: Uint8Array): boolean {
  for (let i = 0; i < lower.length; i++) {
    if (LOWER[bytes[at + i] as number] !== lower[i]) return false;
  }
  return true;
}

/** True if the range is exactly `lower`, in any case. */
export function rangeIs(bytes: Uint8Array, start: number, end: number, lower: Uint8Array): boolean {
  return end - start === lower.length && startsIgnoreCase(bytes, start, lower);
}
