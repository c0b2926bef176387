/**
 * Reads nginx-style configuration. Every error is reported and skipped, so that one run finds them all. Nothing here knows a
 * directive but `include`: blocks of free lines (`types`, `map`) parse like all others, a line being a directive named by its first word.
 */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Source, Word } from '../contract/tree.js';
import { COMMAND_LINE, ConfigError, byPosition } from './errors.js';
import { GrantedFiles } from './granted-files.js';
import { expandPattern, isPattern } from './glob.js';
import { systemErrorText } from '../contract/system-error.js';
import { DEFAULT_LIMITS, TextParser, type ParseHost, type ParseLimits, type TextKind } from './text-parser.js';
import type { DirectiveData, IdSource } from './tree.js';

export interface ParseOptions {
  readonly ids: IdSource;
  /** Texts that count in the place of what files hold, by path. */
  readonly texts?: ReadonlyMap<string, string>;
  /** Folders where a relative `include` path is looked for, in this order, if there is no such file in the folder of the configuration. */
  readonly shipped?: readonly string[];
  /** Files that another process has read for this one. */
  readonly granted?: GrantedFiles | undefined;
  readonly limits?: Partial<ParseLimits>;
}

export interface ParseTextOptions extends ParseOptions {
  /** Name of the text in error messages: `(api)`. */
  readonly file: string;
}

export interface ParsedText {
  readonly directives: readonly DirectiveData[];
  /** In the order of the text. Empty: the directives are all there is. */
  readonly errors: readonly ConfigError[];
  /** Every file that was read, in order, each once. */
  readonly files: readonly string[];
  /** Ids of directives with an error in their quotes or without an end: what else seems wrong with them follows from it. */
  readonly garbled: ReadonlySet<number>;
  /** By errors: the id of a directive that causes them if it is rejected itself. */
  readonly follows: ReadonlyMap<ConfigError, number>;
}

/**
 * Reads a configuration file and what it includes. Relative `include` paths are under the folder of this file, else under those of
 * `shipped`.
 * @param path absolute
 */
export function parseFile(path: string, options: ParseOptions): ParsedText {
  const run = new ParseRun(options, dirname(path));
  return run.finish(run.file(path, undefined, 1));
}

/**
 * Parses text that came through the API, alone: it cannot close the block it will be put into and cannot include files. The last `;` may
 * be left out. Positions are within the text.
 */
export function parseText(text: string, options: ParseTextOptions): ParsedText {
  const run = new ParseRun(options, undefined);
  return run.finish(run.text(text, { file: options.file, unexpectedEnd: undefined, blocks: true }));
}

/**
 * Parses the text of `-g`: directives without blocks, each ended by `;`.
 * @param folder where relative `include` paths are under
 */
export function parseParameter(text: string, options: ParseOptions, folder: string): ParsedText {
  const run = new ParseRun(options, folder);
  return run.finish(run.text(text, { file: COMMAND_LINE, unexpectedEnd: 'unexpected end of parameter, expecting ";"', blocks: false }));
}

/** One run over a configuration: what is shared by its files. */
class ParseRun implements ParseHost {
  readonly ids: IdSource;
  readonly limits: ParseLimits;
  private readonly texts: ParseOptions['texts'];
  private readonly granted: GrantedFiles;
  private readonly shipped: readonly string[];
  private readonly errors: ConfigError[] = [];
  private readonly files = new Set<string>();
  private readonly garbledIds = new Set<number>();
  private readonly follows = new Map<ConfigError, number>();
  /** Real paths of the files that are open around the current one. */
  private readonly open: string[] = [];

  constructor(
    { ids, limits, texts, shipped = [], granted = new GrantedFiles() }: ParseOptions,
    /** Folder of relative `include` paths; undefined: nothing may be included. */
    private readonly folder: string | undefined,
  ) {
    this.ids = ids;
    this.limits = { ...DEFAULT_LIMITS, ...limits };
    this.texts = texts;
    this.granted = granted;
    this.shipped = shipped;
  }

  finish(directives: readonly DirectiveData[]): ParsedText {
    return {
      directives,
      errors: this.errors.toSorted(byPosition),
      files: [...this.files],
      garbled: this.garbledIds,
      follows: this.follows,
    };
  }

  /** @param from the word after `include`, `length` characters long */
  file(path: string, from: Source | undefined, length: number): readonly DirectiveData[] {
    const text = this.read(path, from, length);
    if (text === undefined) return [];
    const unexpectedEnd = 'unexpected end of file, expecting ";" or "}"';
    const directives = this.text(text, { file: path, ...(from && { from }), unexpectedEnd, blocks: true });
    this.open.pop();
    return directives;
  }

  text(text: string, kind: TextKind): readonly DirectiveData[] {
    if (text.length <= this.limits.size) return new TextParser(this, text, kind).all();
    this.report(new ConfigError(`the text is longer than ${this.limits.size} characters`, { file: kind.file, line: 1, column: 1 }));
    return [];
  }

  include({ text, quote }: Word, source: Source): readonly DirectiveData[] | undefined {
    if (this.folder === undefined) return undefined;
    const length = text.length + (quote === undefined ? 0 : 2);
    const paths = isPattern(text)
      ? expandPattern(text, this.folder, (folder, error) => this.reportForbidden(folder, error, source, length))
      : [this.pathOf(text, this.folder)];
    return paths.flatMap((path) => this.file(path, source, length));
  }

  /** Without an error, whatever the folder has would be missing in the configuration. */
  private reportForbidden(folder: string, error: unknown, source: Source, length: number): void {
    const hint = 'let the user of the server read the folder';
    this.report(new ConfigError(`opendir() "${folder}" failed (${systemErrorText(error)})`, source, length, hint));
  }

  private pathOf(name: string, folder: string): string {
    const own = resolve(folder, name);
    if (existsSync(own)) return own;
    return this.shipped.map((other) => resolve(other, name)).find((path) => existsSync(path)) ?? own;
  }

  garbled(id: number): void {
    this.garbledIds.add(id);
  }

  report(error: ConfigError, after?: number): void {
    if (this.errors.length < this.limits.errors) this.errors.push(error);
    if (after !== undefined) this.follows.set(error, after);
  }

  /** The text of a file, which is then open until the caller takes it off the list; undefined if it cannot be read. */
  private read(path: string, from: Source | undefined, length: number): string | undefined {
    try {
      const { real, bytes } = this.bytesOf(path);
      const text = this.texts?.get(path) ?? decode(bytes).text;
      this.files.add(path);
      this.open.push(real);
      return text;
    } catch (error) {
      this.report(new ConfigError(openFailure(path, error), from, length));
      return undefined;
    }
  }

  private bytesOf(path: string): { readonly real: string; readonly bytes: Buffer } {
    let real = path;
    try {
      real = realpathSync(path);
      this.assertAllowed(real, statSync(real).size);
      return { real, bytes: readFileSync(real) };
    } catch (error) {
      const bytes = this.granted.instead(path, error);
      this.assertAllowed(real, bytes.length);
      return { real, bytes };
    }
  }

  private assertAllowed(real: string, length: number): void {
    const { size, includeDepth } = this.limits;
    if (length > size) throw new Error(`longer than ${size} bytes`);
    if (this.open.includes(real)) throw new Error('it includes itself');
    if (this.open.length >= includeDepth) throw new Error(`more than ${includeDepth} files include one another`);
  }
}

/** A folder can be opened, and fails when it is read. */
function openFailure(path: string, error: unknown): string {
  const call = (error as NodeJS.ErrnoException).syscall === 'read' ? 'pread' : 'open';
  return `${call}() "${path}" failed (${systemErrorText(error)})`;
}

/** Configurations are UTF-8; one that is not is taken byte by byte, as nginx takes it. */
export function decode(bytes: Buffer): { readonly text: string; readonly encoding: 'utf8' | 'latin1' } {
  const text = bytes.toString('utf8');
  const isOther = text.includes('\uFFFD') && !bytes.equals(Buffer.from(text));
  return isOther ? { text: bytes.toString('latin1'), encoding: 'latin1' } : { text, encoding: 'utf8' };
}
