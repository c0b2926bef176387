/**
 * Splits text of the nginx language into statements: the words up to `;`, `{`, `}` or the end. The rules are those of nginx's own
 * tokenizer, its odd ones included: `}` and quotes inside a bare word are text, `#` starts a comment only where a word may start, and a
 * closing quote must be followed by a blank, `;`, `{` or `)`.
 */
import type { Word } from '../contract/tree.js';

export type End = ';' | '{' | '}' | 'eof';

/** Words before `end`. `line` and `column` are those of the end itself. */
export interface Statement {
  readonly words: readonly Word[];
  readonly end: End;
  /** An error in quotes or a missing end was reported: the words are probably not the ones that were meant. */
  readonly garbled: boolean;
  readonly line: number;
  readonly column: number;
}

/** Receives every error; lexing continues after it. */
export type LexReport = (message: string, line: number, column: number, length: number, hint?: string) => void;

export interface LexerOptions {
  readonly report: LexReport;
  /** Longest word in characters. */
  readonly wordLength: number;
  /** Text of nginx's error when the text ends inside a statement; undefined: the last terminator may be left out. */
  readonly unexpectedEnd: string | undefined;
}

const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const DOUBLE_QUOTE = 34;
const HASH = 35;
const DOLLAR = 36;
const SINGLE_QUOTE = 39;
const CLOSING_PARENTHESIS = 41;
const SEMICOLON = 59;
const BACKSLASH = 92;
const OPEN = 123;
const CLOSE = 125;

export class Lexer {
  /** The text ended within a statement or a quote, which was reported. */
  brokeOff = false;
  private at: number;
  private line = 1;
  /** Offset of the first character of the current line. */
  private lineStart: number;
  /** Of the current statement. */
  private garbled = false;

  constructor(
    private readonly text: string,
    private readonly options: LexerOptions,
  ) {
    this.at = text.startsWith('\uFEFF') ? 1 : 0;
    this.lineStart = this.at;
  }

  /** The next statement. After `eof` it is `eof` forever. */
  next(): Statement {
    const words: Word[] = [];
    this.garbled = false;
    for (;;) {
      this.skipBlanks();
      switch (this.text.charCodeAt(this.at)) {
        case SEMICOLON:
          if (words.length > 0) return this.take(words, ';');
          this.report('unexpected ";"', this.at++);
          break;
        case OPEN:
          if (words.length === 0) this.report('unexpected "{"', this.at);
          return this.take(words, '{');
        case CLOSE:
          if (words.length === 0) return this.take(words, '}');
          this.reportMissingSemicolon(words);
          return this.statement(words, ';');
        case DOUBLE_QUOTE:
          if (!this.quoted('"', words)) return this.statement(words, ';');
          break;
        case SINGLE_QUOTE:
          if (!this.quoted("'", words)) return this.statement(words, ';');
          break;
        default:
          if (this.at >= this.text.length) return this.end(words);
          this.bare(words);
      }
    }
  }

  private skipBlanks(): void {
    for (; ; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === LF) this.newLine(this.at);
      else if (code === HASH) this.skipComment();
      else if (code !== SPACE && code !== TAB && code !== CR) return;
    }
  }

  /** Stops before the line end, so that the caller counts it. */
  private skipComment(): void {
    const end = this.text.indexOf('\n', this.at);
    this.at = (end < 0 ? this.text.length : end) - 1;
  }

  private newLine(at: number): void {
    this.line++;
    this.lineStart = at + 1;
  }

  private bare(words: Word[]): void {
    const start = this.at;
    const { line } = this;
    const column = this.columnOf(start);
    let escaped = false;
    let variable = false;
    for (; this.at < this.text.length; this.at++) {
      const code = this.text.charCodeAt(this.at);
      if (code === OPEN && variable) continue;
      variable = code === DOLLAR;
      if (code === BACKSLASH && this.at + 1 < this.text.length) {
        escaped = true;
        this.at++;
        if (this.text.charCodeAt(this.at) === LF) this.newLine(this.at);
      } else if (endsBareWord(code)) break;
    }
    const raw = this.text.slice(start, this.at);
    if (raw.length > this.options.wordLength) this.options.report(`too long parameter "${raw.slice(0, 10)}..." started`, line, column, 10);
    words.push({ text: escaped ? unescape(raw) : raw, line, column });
  }

  /** False if the quote has no end. */
  private quoted(quote: '"' | "'", words: Word[]): boolean {
    const start = this.at + 1;
    const { line } = this;
    const column = this.columnOf(this.at);
    const end = closingQuote(this.text, start, quote);
    if (end < 0) {
      this.reportUnclosed(quote, line, column);
      words.push({ text: this.restOfLine(), quote, line, column });
      return false;
    }
    const raw = this.text.slice(start, end);
    if (raw.length > this.options.wordLength) {
      this.options.report(`too long parameter, probably missing terminating "${quote}" character`, line, column, 10);
    }
    for (let newline = raw.indexOf('\n'); newline >= 0; newline = raw.indexOf('\n', newline + 1)) this.newLine(start + newline);
    words.push({ text: raw.includes('\\') ? unescape(raw) : raw, quote, line, column });
    this.at = end + 1;
    this.checkAfterQuote();
    return true;
  }

  /** Takes a quote without an end for one that ends with its line, so that the lines after it are looked at. */
  private restOfLine(): string {
    const start = this.at + 1;
    const lineEnd = this.text.indexOf('\n', start);
    this.at = lineEnd < 0 ? this.text.length : lineEnd;
    return this.text.slice(start, this.at);
  }

  private checkAfterQuote(): void {
    const code = this.text.charCodeAt(this.at);
    if (Number.isNaN(code) || endsBareWord(code) || code === CLOSING_PARENTHESIS || code === CLOSE) return;
    const character = String.fromCodePoint(this.text.codePointAt(this.at) ?? 0);
    this.garbled = true;
    this.report(`unexpected "${character}"`, this.at, 'a closing quote is followed by a blank, ";", "{" or ")"');
  }

  private reportUnclosed(quote: string, line: number, column: number): void {
    const { line: lastLine, column: lastColumn } = endOf(this.text);
    const { unexpectedEnd } = this.options;
    this.garbled = true;
    this.brokeOff = true;
    const hint = `the quote ${quote} that opens in line ${line}, column ${column} is not closed`;
    if (unexpectedEnd === undefined) this.options.report('unexpected end of file, expecting ";" or "}"', line, column, 1, hint);
    else this.options.report(unexpectedEnd, lastLine, lastColumn, 1, hint);
  }

  private reportMissingSemicolon(words: readonly Word[]): void {
    const last = words.at(-1);
    this.report('unexpected "}"', this.at, last && `is ";" missing after "${last.text}" in line ${last.line}?`);
  }

  private end(words: readonly Word[]): Statement {
    if (words.length === 0) return this.statement(words, 'eof');
    const { unexpectedEnd } = this.options;
    if (unexpectedEnd !== undefined) {
      this.garbled = true;
      this.brokeOff = true;
      this.report(unexpectedEnd, this.at);
    }
    return this.statement(words, ';');
  }

  private take(words: readonly Word[], end: End): Statement {
    const statement = this.statement(words, end);
    this.at++;
    return statement;
  }

  private statement(words: readonly Word[], end: End): Statement {
    return { words, end, garbled: this.garbled, line: this.line, column: this.columnOf(this.at) };
  }

  private report(message: string, at: number, hint?: string): void {
    this.options.report(message, this.line, this.columnOf(at), 1, hint);
  }

  private columnOf(at: number): number {
    return at - this.lineStart + 1;
  }
}

function endsBareWord(code: number): boolean {
  return code === SPACE || code === TAB || code === CR || code === LF || code === SEMICOLON || code === OPEN;
}

function closingQuote(text: string, start: number, quote: string): number {
  for (let at = start; at < text.length; at++) {
    const character = text[at];
    if (character === '\\') at++;
    else if (character === quote) return at;
  }
  return -1;
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '\\': '\\', t: '\t', r: '\r', n: '\n' };

/** Resolves `\" \' \\ \t \r \n`; a backslash before anything else is text. */
function unescape(raw: string): string {
  return raw.replaceAll(/\\(["'\\trn])/g, (_, character: string) => ESCAPES[character] ?? character);
}

function endOf(text: string): { line: number; column: number } {
  const lastLine = text.lastIndexOf('\n') + 1;
  return { line: text.split('\n').length, column: text.length - lastLine + 1 };
}
