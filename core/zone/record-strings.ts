import type { Zone } from './zone.js';

/** Bytes of the length in front of a string. */
const LENGTH = 2;
/** The most bytes of a string. */
const LONGEST = 2 ** 16 - 1;

/** The strings of bytes in the records of one table: each has a place of fixed size after the numbers of the record. */
export class RecordStrings<S extends string> {
  readonly names: readonly S[];
  /** Bytes of a whole record. */
  readonly end: number;
  readonly #sizes: readonly number[];
  readonly #offsets: readonly number[];

  /**
   * @param sizes the most bytes of each string
   * @param start bytes of the record in front of them
   * @throws RangeError for a size that is none
   */
  constructor(sizes: Readonly<Record<S, number>> | undefined, start: number) {
    const entries = Object.entries<number>(sizes ?? {});
    this.names = entries.map(([name]) => name as S);
    this.#sizes = entries.map(([, size]) => size);
    const wrong = entries.find(([, size]) => !Number.isInteger(size) || size < 1 || size > LONGEST);
    if (wrong !== undefined) throw new RangeError(`the size of string "${wrong[0]}" must be between 1 and ${LONGEST}`);
    let end = start;
    this.#offsets = this.#sizes.map((size) => {
      const offset = end;
      end += LENGTH + size;
      return offset;
    });
    this.end = end;
  }

  /** @returns the string. @throws RangeError if it cannot be kept */
  checked(at: number, value: unknown): string {
    const [text, size] = [String(value), this.#sizes[at]!];
    if (text.length > size) throw new RangeError(`string "${this.names[at]}" has ${text.length} bytes: it may have ${size}`);
    for (let index = 0; index < text.length; index++)
      if (text.charCodeAt(index) > 255) throw new RangeError(`string "${this.names[at]}" has characters that are not bytes`);
    return text;
  }

  read({ bytes }: Pick<Zone, 'bytes'>, record: number, at: number): string {
    const start = record + this.#offsets[at]!;
    const end = start + LENGTH + Math.min(bytes[start]! | (bytes[start + 1]! << 8), this.#sizes[at]!);
    let text = '';
    for (let index = start + LENGTH; index < end; index++) text += String.fromCharCode(bytes[index]!);
    return text;
  }

  write({ bytes }: Zone, record: number, at: number, text: string): void {
    let index = record + this.#offsets[at]!;
    bytes[index++] = text.length & 255;
    bytes[index++] = text.length >> 8;
    for (let next = 0; next < text.length; next++) bytes[index++] = text.charCodeAt(next);
  }
}
