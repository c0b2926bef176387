/**
 * Where a text stops being JSON (RFC 8259): offset of the first character that is not allowed there, or the length of a text that ends
 * too early. V8 reports it only for some errors.
 */
export function jsonErrorAt(text: string): number {
  return new Scan(text).run();
}

/** A key that its object has already, and where it is. Undefined: there is none. `text` must be JSON. */
export function firstDuplicate(text: string): { readonly position: number; readonly key: string } | undefined {
  const scan = new Scan(text);
  scan.run(true);
  return scan.duplicate;
}

const BLANK = /[ \t\n\r]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING_PART = /(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*/y;

/** Expected next token. */
type Expect = 'value' | 'value or end' | 'name' | 'name or end' | 'colon' | 'comma or end';

class Scan {
  #at = 0;
  /** Open arrays and objects: the characters that close them. */
  readonly #open: string[] = [];
  /** For each open object the keys that it has; for an array undefined. */
  readonly #keys: (Set<string> | undefined)[] = [];
  /** The first key that its object has already. */
  duplicate: { readonly position: number; readonly key: string } | undefined;

  constructor(private readonly text: string) {}

  /** A loop rather than recursion: a text may be nested as deeply as it is long. @param untilDuplicate ends at the first duplicate key */
  run(untilDuplicate = false): number {
    let expect: Expect | undefined = 'value';
    while (expect !== undefined) {
      if (untilDuplicate && this.duplicate !== undefined) break;
      this.#skip(BLANK);
      const next = this.#step(expect);
      if (next === false) return this.#at;
      expect = next;
    }
    this.#skip(BLANK);
    return this.#at;
  }

  /** Undefined: the outermost value is complete. False: this character is not allowed here. */
  #step(expect: Expect): Expect | undefined | false {
    const character = this.text[this.#at] ?? '';
    if (expect === 'colon') return character === ':' && this.#consume('value');
    if (expect === 'comma or end') {
      if (character === ',') return this.#consume(this.#open.at(-1) === '}' ? 'name' : 'value');
      return this.#end(character);
    }
    if (expect === 'name' || expect === 'name or end') {
      if (character === '"') return this.#key() && 'colon';
      return expect === 'name or end' && this.#end(character);
    }
    if (character === ']' && expect === 'value or end') return this.#end(character);
    return this.#value(character);
  }

  #value(character: string): Expect | undefined | false {
    if (character === '{' || character === '[') {
      this.#open.push(character === '{' ? '}' : ']');
      this.#keys.push(character === '{' ? new Set() : undefined);
      return this.#consume(character === '{' ? 'name or end' : 'value or end');
    }
    const complete = character === '"' ? this.#string() : this.#skip(SCALAR) > 0;
    return complete && this.#after();
  }

  #end(character: string): Expect | undefined | false {
    if (character === '' || character !== this.#open.at(-1)) return false;
    this.#open.pop();
    this.#keys.pop();
    this.#at++;
    return this.#after();
  }

  #after(): Expect | undefined {
    return this.#open.length > 0 ? 'comma or end' : undefined;
  }

  #consume(next: Expect): Expect {
    this.#at++;
    return next;
  }

  #key(): boolean {
    const position = this.#at;
    if (!this.#string()) return false;
    const keys = this.#keys.at(-1);
    // The same key may be written with other escapes.
    const key = JSON.parse(this.text.slice(position, this.#at)) as string;
    if (keys?.has(key) === true) this.duplicate ??= { position, key };
    keys?.add(key);
    return true;
  }

  #string(): boolean {
    this.#at++;
    this.#skip(STRING_PART);
    if (this.text[this.#at] !== '"') return false;
    this.#at++;
    return true;
  }

  #skip(pattern: RegExp): number {
    pattern.lastIndex = this.#at;
    const length = pattern.exec(this.text)?.[0].length ?? 0;
    this.#at += length;
    return length;
  }
}
