/** Dictionaries of structured fields (RFC 9651). Parameters are checked and dropped. */

export type Item =
  | { readonly type: 'integer' | 'decimal' | 'date'; readonly value: number }
  | { readonly type: 'string' | 'token' | 'bytes'; readonly value: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'list'; readonly value: readonly Item[] };

const KEY = /[a-z*][a-z0-9_\-.*]*/y;
const SPACES = / */y;
const BLANKS = /[ \t]*/y;
const NUMBER = /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})(?![\d.])/y;
const DATE = /@(-?\d{1,15})(?![\d.])/y;
const STRING = /"((?:[ !#-[\]-~]|\\["\\])*)"/y;
const TOKEN = /[A-Za-z*][!#$%&'*+\-.^_`|~\w:/]*/y;
const BYTES = /:([A-Za-z0-9+/=]*):/y;
const BOOLEAN = /\?([01])/y;
const TRUE: Item = { type: 'boolean', value: true };

/** Undefined: the field is malformed, and is to be ignored as a whole. Of a key that is repeated, the last counts. */
export function parseDictionary(text: string): ReadonlyMap<string, Item> | undefined {
  try {
    return new Reader(text).dictionary();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

class Reader {
  #at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text.replace(/^ +| +$/g, '');
  }

  dictionary(): ReadonlyMap<string, Item> {
    const members = new Map<string, Item>();
    while (!this.#isOver) {
      const key = this.#required(KEY)[0];
      members.set(key, this.#member());
      this.#optional(BLANKS);
      if (this.#isOver) break;
      this.#literal(',');
      this.#optional(BLANKS);
      if (this.#isOver) throw new SyntaxError('a comma at the end');
    }
    return members;
  }

  #member(): Item {
    if (this.#skip('=')) return this.#skip('(') ? this.#list() : this.#item();
    this.#parameters();
    return TRUE;
  }

  #list(): Item {
    const value: Item[] = [];
    for (;;) {
      this.#optional(SPACES);
      if (this.#skip(')')) break;
      value.push(this.#item());
      if (!this.#isNext(' ') && !this.#isNext(')')) throw new SyntaxError('no space between items');
    }
    this.#parameters();
    return { type: 'list', value };
  }

  #item(): Item {
    const item = this.#bare();
    this.#parameters();
    return item;
  }

  #parameters(): void {
    while (this.#skip(';')) {
      this.#optional(SPACES);
      this.#required(KEY);
      if (this.#skip('=')) this.#bare();
    }
  }

  #bare(): Item {
    const number = this.#optional(NUMBER)?.[0];
    if (number !== undefined) return { type: number.includes('.') ? 'decimal' : 'integer', value: Number(number) };
    const text = this.#optional(STRING)?.[1];
    if (text !== undefined) return { type: 'string', value: text.replace(/\\(.)/g, '$1') };
    const token = this.#optional(TOKEN)?.[0];
    if (token !== undefined) return { type: 'token', value: token };
    const bytes = this.#optional(BYTES)?.[1];
    if (bytes !== undefined) return { type: 'bytes', value: bytes };
    const truth = this.#optional(BOOLEAN)?.[1];
    if (truth !== undefined) return { type: 'boolean', value: truth === '1' };
    return { type: 'date', value: Number(this.#required(DATE)[1]) };
  }

  get #isOver(): boolean {
    return this.#at >= this.#text.length;
  }

  #isNext(character: string): boolean {
    return this.#text[this.#at] === character;
  }

  #skip(character: string): boolean {
    const isNext = this.#isNext(character);
    if (isNext) this.#at++;
    return isNext;
  }

  #literal(character: string): void {
    if (!this.#skip(character)) throw new SyntaxError(`"${character}" is missing`);
  }

  #optional(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }

  #required(pattern: RegExp): RegExpExecArray {
    const found = this.#optional(pattern);
    if (found === undefined) throw new SyntaxError('malformed');
    return found;
  }
}
