import { binaryAddress } from '../../core/contract/binary-address.js';

/** Bytes of an identifier: four numbers of four bytes. */
const SIZE = 16;
/** Characters of base64 that have all of it; a mark and a filling character follow. */
const CHARACTERS = 22;
/** Beginning of the numbers of version 2 (the format of mod_uid). */
const FIRST_OF_VERSION_2 = 0x03030302;

/** An identifier in a cookie. */
export interface Identifier {
  readonly bytes: Buffer;
  /** The character after it, which says whether it was sent with the settings of now. */
  readonly mark: string;
}

/** @returns what is wrong with the value of the cookie, or the identifier in it; undefined: its last number is 0, as in none that is made (nginx) */
export function parseIdentifier(value: string): Identifier | 'too short' | 'invalid' | undefined {
  if (value.length < CHARACTERS) return 'too short';
  const text = value.slice(0, CHARACTERS);
  if (!/^[A-Za-z0-9+/]+$/.test(text)) return 'invalid';
  const bytes = Buffer.from(text, 'base64');
  if (bytes.readUInt32LE(SIZE - 4) === 0) return undefined;
  return { bytes, mark: value.charAt(CHARACTERS + 1) === '=' ? value.charAt(CHARACTERS) : '' };
}

/** The value of the cookie. */
export function cookieText(bytes: Buffer, mark: string): string {
  return `${bytes.toString('base64').slice(0, CHARACTERS)}${mark}=`;
}

/** As `$uid_got` and `$uid_set` show it. */
export function shownIdentifier(name: string, bytes: Buffer): string {
  const numbers = [0, 4, 8, 12].map((at) => bytes.readUInt32LE(at).toString(16).toUpperCase().padStart(8, '0'));
  return `${name}=${numbers.join('')}`;
}

/** Makes identifiers that no other thread and no other server makes. */
export class IdentifierSource {
  readonly #start = process.getBuiltinModule('node:crypto').randomBytes(4).readUInt32BE(0);
  #count = 0;

  /** @param service the number of the server; undefined: a part of its address, with version 2 @param address that the client connected to */
  next(version: 1 | 2, service: number | undefined, address: string): Buffer {
    this.#count = (this.#count + 1) >>> 0;
    const time = Math.floor(Date.now() / 1000);
    const bytes = Buffer.alloc(SIZE);
    if (version === 1) {
      for (const [at, number] of [service ?? 0, time, this.#start, this.#count].entries()) bytes.writeUInt32LE(number >>> 0, at * 4);
      return bytes;
    }
    const numbers = [service ?? lastOctets(address), time, this.#start, (FIRST_OF_VERSION_2 + this.#count - 1) >>> 0];
    for (const [at, number] of numbers.entries()) bytes.writeUInt32BE(number >>> 0, at * 4);
    return bytes;
  }
}

function lastOctets(address: string): number {
  const bytes = Buffer.from(binaryAddress(address), 'latin1');
  return address.startsWith('unix:') || bytes.length < 4 ? 0 : bytes.readUInt32BE(bytes.length - 4);
}
