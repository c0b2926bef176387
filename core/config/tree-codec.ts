/**
 * A configuration on its way from one thread to others: numbers in memory that all of them see, and each text once. Objects would be copied one by
 * one for each thread, and each copy would have texts of its own.
 */
import type { Block, Directive, Source, Word } from '../contract/tree.js';
import type { DirectiveData } from './operations.js';

export interface EncodedTree {
  readonly numbers: Float64Array;
  /** JSON of {@link Tables}. */
  readonly tables: string;
}

/** Where texts came from: the file, and the place in {@link Tables.origins} of the `include` line that brought it in. */
type Origin = readonly [file: string, line?: number, column?: number, from?: number];

interface Tables {
  readonly texts: readonly string[];
  readonly origins: readonly Origin[];
}

const QUOTES = [undefined, '"', "'"] as const;
const NO_WORDS: readonly Word[] = [];
/** In the place of a key, or of the number of directives in a block. */
const NONE = -1;
const FIRST_LENGTH = 1 << 16;

export function encodeTree(root: Block): EncodedTree {
  return new Encoder().encode(root);
}

export function decodeTree(encoded: EncodedTree): DirectiveData[] {
  return new Decoder(encoded).block();
}

class Encoder {
  #numbers = new Float64Array(FIRST_LENGTH);
  #length = 0;
  readonly #texts = new Map<string, number>();
  readonly #origins: Origin[] = [];
  readonly #plainOrigins = new Map<string, number>();
  readonly #includedOrigins = new Map<Source, Map<string, number>>();

  encode(root: Block): EncodedTree {
    this.#block(root);
    const shared = new Float64Array(new SharedArrayBuffer(this.#length * Float64Array.BYTES_PER_ELEMENT));
    shared.set(this.#numbers.subarray(0, this.#length));
    const tables: Tables = { texts: [...this.#texts.keys()], origins: this.#origins };
    return { numbers: shared, tables: JSON.stringify(tables) };
  }

  #block(block: Block): void {
    this.#put(block.size);
    for (const directive of block) this.#directive(directive);
  }

  #directive({ id, name, args, source, key, block }: Directive): void {
    this.#put(id);
    this.#put(this.#text(name));
    this.#put(this.#origin(source));
    this.#put(source.line);
    this.#put(source.column);
    this.#put(key ?? NONE);
    this.#put(args.length);
    for (const { text, quote, line, column } of args) {
      this.#put(this.#text(text) * QUOTES.length + QUOTES.indexOf(quote));
      this.#put(line);
      this.#put(column);
    }
    if (block === undefined) this.#put(NONE);
    else this.#block(block);
  }

  #put(value: number): void {
    if (this.#length === this.#numbers.length) {
      const longer = new Float64Array(this.#length * 2);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    this.#numbers[this.#length++] = value;
  }

  #text(text: string): number {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const place = this.#texts.size;
    this.#texts.set(text, place);
    return place;
  }

  /** Directives of one file have the very same `from`. */
  #origin({ file, from }: Source): number {
    const origins = from === undefined ? this.#plainOrigins : (this.#includedOrigins.get(from) ?? new Map<string, number>());
    if (from !== undefined) this.#includedOrigins.set(from, origins);
    const known = origins.get(file);
    if (known !== undefined) return known;
    const origin: Origin = from === undefined ? [file] : [file, from.line, from.column, this.#origin(from)];
    const place = this.#origins.push(origin) - 1;
    origins.set(file, place);
    return place;
  }
}

class Decoder {
  readonly #numbers: Float64Array;
  readonly #texts: readonly string[];
  readonly #files: readonly Pick<Source, 'file' | 'from'>[];
  #at = 0;

  constructor({ numbers, tables }: EncodedTree) {
    const { texts, origins } = JSON.parse(tables) as Tables;
    this.#numbers = numbers;
    this.#texts = texts;
    const files: Pick<Source, 'file' | 'from'>[] = [];
    for (const [file, line = 0, column = 0, from] of origins) {
      const outer = from === undefined ? undefined : files[from];
      files.push(
        outer === undefined ? { file } : { file, from: { file: outer.file, line, column, ...(outer.from && { from: outer.from }) } },
      );
    }
    this.#files = files;
  }

  block(): DirectiveData[] {
    const size = this.#next();
    const directives: DirectiveData[] = [];
    for (let at = 0; at < size; at++) directives.push(this.#directive());
    return directives;
  }

  #directive(): DirectiveData {
    const id = this.#next();
    const name = this.#texts[this.#next()] ?? '';
    const source = this.#source();
    const key = this.#next();
    const count = this.#next();
    // An array that grows has room for 16 more.
    const args = count === 0 ? NO_WORDS : Array.from({ length: count }, () => this.#word());
    const block = this.#numbers[this.#at] === NONE ? undefined : this.block();
    if (block === undefined) this.#at++;
    return { id, name, args, source, ...(block && { block }), ...(key !== NONE && { key }) };
  }

  #source(): Source {
    const { file, from } = this.#files[this.#next()] ?? { file: '' };
    const line = this.#next();
    const column = this.#next();
    return from === undefined ? { file, line, column } : { file, line, column, from };
  }

  #word(): Word {
    const place = this.#next();
    const text = this.#texts[Math.floor(place / QUOTES.length)] ?? '';
    const quote = QUOTES[place % QUOTES.length];
    const line = this.#next();
    const column = this.#next();
    return quote === undefined ? { text, line, column } : { text, quote, line, column };
  }

  /** A whole number as V8 keeps it in an object itself: others are objects of their own. */
  #next(): number {
    const number = this.#numbers[this.#at++] ?? NONE;
    const small = number | 0;
    return small === number ? small : number;
  }
}
