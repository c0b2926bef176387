import type { BodyFilter, BodyOutput } from '../../core/contract/http.js';
import { isUtf8, type CharsetMap } from './charset-maps.js';

/** How bodies go from one charset to another. */
export interface Recoding {
  /** Every character is a byte before and after. */
  readonly keepsLength: boolean;
  /** @param length of the body, if known */
  create(length: number | undefined): BodyFilter;
}

const UNKNOWN = '?'.charCodeAt(0);
const FIRST_BEYOND_ASCII = 128;

/** @param from the charset that bodies have now: one of the two of the map */
export function recoding(map: CharsetMap, from: string): Recoding {
  const isForward = map.from === from;
  if (!isUtf8(map.to)) {
    const table = byteTable(map, isForward);
    return { keepsLength: true, create: (length) => new ByteFilter(table, length) };
  }
  if (isForward) {
    const texts = textTable(map);
    return { keepsLength: false, create: () => new TextFilter(texts) };
  }
  const bytes = new Map(Array.from(map.pairs, ([byte, text]) => [Buffer.from(text, 'latin1').toString(), byte]));
  return { keepsLength: false, create: () => new Utf8Filter(bytes) };
}

function byteTable({ pairs }: CharsetMap, isForward: boolean): Uint8Array {
  const table = Uint8Array.from({ length: 256 }, (_, byte) => (byte < FIRST_BEYOND_ASCII ? byte : UNKNOWN));
  for (const [byte, text] of pairs) {
    const other = text.charCodeAt(0);
    if (isForward) table[byte] = other;
    else table[other] = byte;
  }
  return table;
}

function textTable({ pairs }: CharsetMap): readonly string[] {
  return Array.from({ length: 256 }, (_, byte) => pairs.get(byte) ?? (byte < FIRST_BEYOND_ASCII ? String.fromCharCode(byte) : '?'));
}

/** From bytes to bytes. */
class ByteFilter implements BodyFilter {
  readonly length?: number;

  constructor(
    private readonly table: Uint8Array,
    length: number | undefined,
  ) {
    if (length !== undefined) this.length = length;
  }

  write(piece: Buffer, out: BodyOutput): void {
    out.write(Buffer.from(piece.map((byte) => this.table[byte]!)));
  }

  end(out: BodyOutput): void {
    out.end();
  }
}

/** From bytes to UTF-8. */
class TextFilter implements BodyFilter {
  constructor(private readonly texts: readonly string[]) {}

  write(piece: Buffer, out: BodyOutput): void {
    let text = '';
    for (const byte of piece) text += this.texts[byte];
    out.write(Buffer.from(text, 'latin1'));
  }

  end(out: BodyOutput): void {
    out.end();
  }
}

/** From UTF-8 to bytes; what the other charset does not have becomes a character reference of HTML: `&#1075;`. */
class Utf8Filter implements BodyFilter {
  /** Keeps the beginning of a character until its rest comes. */
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  constructor(private readonly bytes: ReadonlyMap<string, number>) {}

  write(piece: Buffer, out: BodyOutput): void {
    let text = '';
    for (const character of this.#decoder.decode(piece, { stream: true })) text += this.#byteOf(character);
    if (text !== '') out.write(Buffer.from(text, 'latin1'));
  }

  end(out: BodyOutput): void {
    out.end();
  }

  #byteOf(character: string): string {
    const byte = this.bytes.get(character);
    if (byte !== undefined) return String.fromCharCode(byte);
    const code = character.codePointAt(0) ?? UNKNOWN;
    if (code < FIRST_BEYOND_ASCII) return character;
    return character === MALFORMED ? '?' : `&#${code};`;
  }
}

/** Character that the decoder returns for invalid UTF-8. */
const MALFORMED = '\ufffd';
