import { Lexer } from './lexer.js';

/** Where a directive is in the text of a file: offsets, the end excluded. */
export interface Span {
  readonly start: number;
  /** After its `;` or `}`. */
  readonly end: number;
  /** Of its block: after the `{`, and at the `}`. */
  readonly block?: { readonly start: number; readonly end: number };
}

/** The directives of one file by the place they begin at. The text was parsed before, without an error. */
export class FileSpans {
  readonly #spans = new Map<string, Span>();
  readonly #lineStarts: readonly number[];
  readonly #lexer: Lexer;

  constructor(private readonly text: string) {
    this.#lineStarts = lineStartsOf(text);
    this.#lexer = new Lexer(text, { report: () => undefined, wordLength: Infinity, unexpectedEnd: undefined });
    this.#read();
  }

  /** @param place of the first word */
  at({ line, column }: { readonly line: number; readonly column: number }): Span | undefined {
    return this.#spans.get(`${line}:${column}`);
  }

  /** Reads statements until the block ends; returns where it does. */
  #read(): number {
    for (;;) {
      const { words, end, line, column } = this.#lexer.next();
      const offset = this.#offset(line, column);
      const [first] = words;
      if (end === '}' || end === 'eof') return offset;
      if (end === '{') {
        const close = this.#read();
        if (first !== undefined) this.#note(first, { start: 0, end: close + 1, block: { start: offset + 1, end: close } });
      } else if (first !== undefined) this.#note(first, { start: 0, end: offset + 1 });
    }
  }

  #note({ line, column }: { readonly line: number; readonly column: number }, span: Span): void {
    this.#spans.set(`${line}:${column}`, { ...span, start: this.#offset(line, column) });
  }

  #offset(line: number, column: number): number {
    return (this.#lineStarts[line - 1] ?? this.text.length) + column - 1;
  }
}

/** A byte order mark is not a part of the first line. */
function lineStartsOf(text: string): number[] {
  const starts = [text.startsWith('\uFEFF') ? 1 : 0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}
