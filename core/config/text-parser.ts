/** Makes directives of the statements of one text. */
import type { Source, Word } from '../contract/tree.js';
import { ConfigError } from './errors.js';
import { Lexer, type Statement } from './lexer.js';
import type { DirectiveData, IdSource } from './tree.js';

/** Bounds on what is read, so that a hostile or broken text costs an error and no more. */
export interface ParseLimits {
  /** Bytes of one file, characters of one text. */
  readonly size: number;
  /** Blocks in one another. */
  readonly depth: number;
  /** Characters of one word. nginx has 4096, too few for a certificate in a word. */
  readonly wordLength: number;
  /** Files that include one another. */
  readonly includeDepth: number;
  /** Errors after which no more are collected. */
  readonly errors: number;
}

export const DEFAULT_LIMITS: ParseLimits = { size: 64 * 1024 ** 2, depth: 64, wordLength: 64 * 1024, includeDepth: 32, errors: 1000 };

/** Where a text comes from and what may be in it. */
export interface TextKind {
  readonly file: string;
  /** The `include` that brought it. */
  readonly from?: Source;
  /** Text of nginx's error when the text ends inside a statement; undefined: the last terminator may be left out. */
  readonly unexpectedEnd: string | undefined;
  /** False: blocks are rejected, as in `-g`. */
  readonly blocks: boolean;
}

/** Callbacks of a text's parser to the run that it belongs to. */
export interface ParseHost {
  readonly ids: IdSource;
  readonly limits: ParseLimits;
  /** @param after the directive that this may follow from, see {@link Parsed.follows} */
  report(error: ConfigError, after?: number): void;
  /** Called for directives whose words were probably meant differently. */
  garbled(id: number): void;
  /** The directives of an `include`; undefined: it is not allowed here. */
  include(file: Word, source: Source): readonly DirectiveData[] | undefined;
}

interface Place {
  readonly line: number;
  readonly column: number;
}

/** Rest of `a{2}` in a regular expression without quotes. */
export const QUANTIFIER_REST = /^\d+(?:,\d*)?\}/;

export class TextParser {
  private readonly lexer: Lexer;
  /** The directive whose block ended with the last statement. */
  private ended: number | undefined;
  /** A directive that took a `}` which was to end the block around it. */
  private swallower: number | undefined;

  constructor(
    private readonly host: ParseHost,
    text: string,
    private readonly kind: TextKind,
  ) {
    this.lexer = new Lexer(text, {
      report: (message, line, column, length, hint) => this.report(message, { line, column }, length, hint),
      wordLength: host.limits.wordLength,
      unexpectedEnd: kind.unexpectedEnd,
    });
  }

  /** All directives of the text. Errors are reported to the host and skipped. */
  all(): readonly DirectiveData[] {
    const directives: DirectiveData[] = [];
    for (;;) {
      const end = this.directives(directives, 0);
      if (end.end === 'eof') return directives;
      this.report('unexpected "}"', end, 1);
    }
  }

  /** Parses until the block or the text ends, and returns that end. */
  private directives(into: DirectiveData[], depth: number): Statement {
    for (;;) {
      const statement = this.lexer.next();
      this.ended = undefined;
      if (statement.end === '}' || statement.end === 'eof') return statement;
      const [name] = statement.words;
      const args = statement.words.slice(1);
      if (name === undefined) this.block(statement, depth);
      else if (name.text === 'include') this.include(name, args, statement, depth, into);
      else into.push(this.directive(name, args, statement, depth));
    }
  }

  private directive(name: Word, args: readonly Word[], statement: Statement, depth: number): DirectiveData {
    const id = this.host.ids.next();
    const source = this.place(name);
    if (statement.garbled) this.host.garbled(id);
    if (QUANTIFIER_REST.test(name.text)) this.swallower = id;
    if (statement.end !== '{') return { id, name: name.text, args, source };
    if (!this.kind.blocks) this.report('block directives are not supported in -g option', name, name.text.length);
    const block = this.block(statement, depth);
    this.ended = id;
    return { id, name: name.text, args, block, source };
  }

  private block(start: Statement, depth: number): readonly DirectiveData[] {
    const children: DirectiveData[] = [];
    if (depth >= this.host.limits.depth) {
      this.report(`more than ${this.host.limits.depth} blocks stand in one another`, start, 1);
      this.skipBlock();
      return children;
    }
    const end = this.directives(children, depth + 1);
    if (end.end === 'eof' && !this.lexer.brokeOff) {
      this.report('unexpected end of file, expecting "}"', end, 1, `the "{" in line ${start.line}, column ${start.column} is not closed`);
    }
    return children;
  }

  private skipBlock(): void {
    for (let open = 1; open > 0;) {
      const { end } = this.lexer.next();
      if (end === 'eof') return;
      if (end === '{') open++;
      else if (end === '}') open--;
    }
  }

  private include(name: Word, args: readonly Word[], statement: Statement, depth: number, into: DirectiveData[]): void {
    const [file] = args;
    if (statement.end === '{') {
      this.report('directive "include" is not terminated by ";"', name, name.text.length);
      this.block(statement, depth);
    } else if (file === undefined || args.length > 1) {
      this.report('invalid number of arguments in "include" directive', name, name.text.length, 'syntax: include file | mask;');
    } else {
      const directives = this.host.include(file, this.place(file));
      if (directives === undefined) this.report('"include" directive is not allowed here', name, name.text.length);
      else for (const directive of directives) into.push(directive);
    }
  }

  private place({ line, column }: Place): Source {
    const { file, from } = this.kind;
    return from === undefined ? { file, line, column } : { file, line, column, from };
  }

  private report(message: string, at: Place, length: number, hint?: string): void {
    const after = message === 'unexpected ";"' ? this.ended : this.swallower;
    this.host.report(new ConfigError(message, this.place(at), length, hint), after);
  }
}
