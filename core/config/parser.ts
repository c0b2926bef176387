/**
 * Makes directives of nginx-style text. Every mistake is reported and stepped over, so that one run finds them all. Blocks of free lines
 * (`types`, `map`) need nothing special here: each line is a directive whose name is its first word.
 */
import { readFileSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Source, Word } from '../module/tree.js';
import { COMMAND_LINE, ConfigError, byPosition } from './errors.js';
import { expandPattern, isPattern } from './glob.js';
import { Lexer, type Statement } from './lexer.js';
import { systemErrorText } from './system-error.js';
import type { DirectiveData, IdSource } from './tree.js';

/** Bounds on what is read, so that a hostile or broken text costs an error and no more. */
export interface ParseLimits {
  /** Characters of one file or text. */
  readonly fileSize: number;
  /** Blocks in one another. */
  readonly depth: number;
  /** Characters of one word. */
  readonly wordLength: number;
  /** Files that include one another. */
  readonly includeDepth: number;
}

export const DEFAULT_LIMITS: ParseLimits = { fileSize: 64 * 1024 ** 2, depth: 64, wordLength: 64 * 1024, includeDepth: 32 };

export interface ParseOptions {
  readonly ids: IdSource;
  readonly limits?: Partial<ParseLimits>;
}

export interface ParseTextOptions extends ParseOptions {
  /** What error messages call the text: `(api)`. */
  readonly file: string;
}

export interface Parsed {
  readonly directives: readonly DirectiveData[];
  /** In the order of the text. Empty: the directives are all there is. */
  readonly errors: readonly ConfigError[];
  /** Every file that was read, in order, each once. */
  readonly files: readonly string[];
}

/**
 * Reads a configuration file and what it includes. Relative `include` paths are under the folder of this file.
 * @param path absolute
 */
export function parseFile(path: string, { ids, limits }: ParseOptions): Parsed {
  const run = new ParseRun(ids, { ...DEFAULT_LIMITS, ...limits }, dirname(path));
  return run.finish(run.file(path, undefined));
}

/**
 * Parses text that came through the API, alone: it cannot close the block it will be put into and cannot include files. The last `;` may
 * be left out. Positions are within the text.
 */
export function parseText(text: string, { ids, file, limits }: ParseTextOptions): Parsed {
  const run = new ParseRun(ids, { ...DEFAULT_LIMITS, ...limits }, undefined);
  return run.finish(run.text(text, { file, unexpectedEnd: undefined, blocks: true }));
}

/** Parses the text of `-g`: directives without blocks, each ended by `;`. `folder` is where relative `include` paths are under. */
export function parseParameter(text: string, { ids, limits }: ParseOptions, folder: string): Parsed {
  const run = new ParseRun(ids, { ...DEFAULT_LIMITS, ...limits }, folder);
  return run.finish(run.text(text, { file: COMMAND_LINE, unexpectedEnd: 'unexpected end of parameter, expecting ";"', blocks: false }));
}

interface TextKind {
  readonly file: string;
  readonly from?: Source;
  readonly unexpectedEnd: string | undefined;
  /** False: blocks are refused, as in `-g`. */
  readonly blocks: boolean;
}

/** One run over a configuration: what is shared by its files. */
class ParseRun {
  readonly errors: ConfigError[] = [];
  private readonly files = new Set<string>();
  /** Real paths of the files that are open around the current one. */
  private readonly open: string[] = [];

  constructor(
    readonly ids: IdSource,
    readonly limits: ParseLimits,
    /** Folder of relative `include` paths; undefined: nothing may be included. */
    readonly folder: string | undefined,
  ) {}

  finish(directives: readonly DirectiveData[]): Parsed {
    return { directives, errors: this.errors.toSorted(byPosition), files: [...this.files] };
  }

  /** @param from the word behind `include` */
  file(path: string, from: Source | undefined, length = 1): readonly DirectiveData[] {
    const text = this.read(path, from, length);
    if (text === undefined) return [];
    const directives = this.text(text, {
      file: path,
      ...(from && { from }),
      unexpectedEnd: 'unexpected end of file, expecting ";" or "}"',
      blocks: true,
    });
    this.open.pop();
    return directives;
  }

  text(text: string, kind: TextKind): readonly DirectiveData[] {
    if (text.length > this.limits.fileSize) {
      this.errors.push(new ConfigError(`configuration text is longer than ${this.limits.fileSize} characters`, firstPlace(kind)));
      return [];
    }
    return new TextParser(this, text, kind).all();
  }

  private read(path: string, from: Source | undefined, length: number): string | undefined {
    try {
      const real = realpathSync(path);
      if (this.open.includes(real)) throw new Error('it includes itself');
      if (this.open.length >= this.limits.includeDepth) throw new Error(`more than ${this.limits.includeDepth} files include one another`);
      const text = decode(readFileSync(path));
      this.files.add(path);
      this.open.push(real);
      return text;
    } catch (error) {
      this.errors.push(new ConfigError(systemErrorText('open', path, error), from, length));
      return undefined;
    }
  }
}

function firstPlace({ file, from }: TextKind): Source {
  return { file, line: 1, column: 1, ...(from && { from }) };
}

/** Configurations are UTF-8; one that is not is taken byte by byte, as nginx takes it. */
function decode(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.includes('\uFFFD') && !bytes.equals(Buffer.from(text)) ? bytes.toString('latin1') : text;
}

/** One file or text. */
class TextParser {
  private readonly lexer: Lexer;

  constructor(
    private readonly run: ParseRun,
    text: string,
    private readonly kind: TextKind,
  ) {
    this.lexer = new Lexer(text, {
      report: (message, line, column, length, hint) => this.report(message, { line, column }, length, hint),
      wordLength: run.limits.wordLength,
      unexpectedEnd: kind.unexpectedEnd,
    });
  }

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
      if (statement.end === '}' || statement.end === 'eof') return statement;
      const [name, ...args] = statement.words;
      if (name === undefined) this.block(depth, statement);
      else if (name.text === 'include' && statement.end === ';') into.push(...this.include(name, args));
      else into.push(this.directive(name, args, statement, depth));
    }
  }

  private directive(name: Word, args: readonly Word[], statement: Statement, depth: number): DirectiveData {
    const id = this.run.ids.next();
    const source = this.place(name);
    if (statement.end !== '{') return { id, name: name.text, args, source };
    if (!this.kind.blocks) this.report('block directives are not supported in -g option', name, name.text.length);
    return { id, name: name.text, args, block: this.block(depth, statement), source };
  }

  private block(depth: number, start: Statement): readonly DirectiveData[] {
    const children: DirectiveData[] = [];
    if (depth >= this.run.limits.depth) {
      this.report(`more than ${this.run.limits.depth} blocks stand in one another`, start, 1);
      this.skipBlock();
      return children;
    }
    const end = this.directives(children, depth + 1);
    if (end.end === 'eof') {
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

  private include(name: Word, args: readonly Word[]): readonly DirectiveData[] {
    const [file] = args;
    if (file === undefined || args.length > 1) {
      this.report('invalid number of arguments in "include" directive', name, name.text.length, 'syntax: include file | mask;');
      return [];
    }
    if (this.run.folder === undefined) {
      this.report('"include" directive is not allowed here', name, name.text.length);
      return [];
    }
    const from = this.place(file);
    const paths = isPattern(file.text) ? expandPattern(file.text, this.run.folder) : [resolve(this.run.folder, file.text)];
    return paths.flatMap((path) => this.run.file(path, from, file.text.length));
  }

  private place({ line, column }: { line: number; column: number }): Source {
    const { file, from } = this.kind;
    return from === undefined ? { file, line, column } : { file, line, column, from };
  }

  private report(message: string, at: { line: number; column: number }, length: number, hint?: string): void {
    this.run.errors.push(new ConfigError(message, this.place(at), length, hint));
  }
}
