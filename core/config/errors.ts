/** Errors of a configuration: place, nginx's text, and a hint. */
import { shownText } from '../contract/secrets.js';
import type { Source, Word, Written } from '../contract/tree.js';

/** The file name of text that came with `-g`. Errors in it have no line. */
export const COMMAND_LINE = 'command line';

/** One error. `message` is nginx's text without the ` in file:line` that {@link formatConfigErrors} adds. */
export class ConfigError extends Error {
  constructor(
    message: string,
    /** The word that is wrong; undefined if no place can be named (a main file that cannot be opened). */
    readonly source: Source | undefined,
    /** Characters of that word as it is written. */
    readonly length = 1,
    /** Accepted values, or the one that was probably meant. */
    readonly hint?: string,
  ) {
    super(shownText(message));
    this.name = 'ConfigError';
  }
}

/** A {@link ConfigError} as plain data: what threads send each other. */
export interface ConfigErrorData {
  readonly message: string;
  readonly source: Source | undefined;
  readonly length: number;
  readonly hint: string | undefined;
}

/** All errors of one run. */
export class ConfigErrors extends Error {
  constructor(readonly errors: readonly ConfigError[]) {
    super(errors.map((error) => error.message).join('; '));
    this.name = 'ConfigErrors';
  }

  static fromData(data: readonly ConfigErrorData[]): ConfigErrors {
    return new ConfigErrors(data.map(({ message, source, length, hint }) => new ConfigError(message, source, length, hint)));
  }

  toData(): ConfigErrorData[] {
    return this.errors.map(({ message, source, length, hint }) => ({ message, source, length, hint }));
  }
}

/** The configuration errors in what was thrown; undefined if it is something else, which the caller should rethrow. */
export function configErrorsOf(thrown: unknown): readonly ConfigError[] | undefined {
  if (thrown instanceof ConfigErrors) return thrown.errors;
  return thrown instanceof ConfigError ? [thrown] : undefined;
}

/** An error at one word of a directive, or at its name. */
export function errorAt(directive: Written, message: string, word?: Word, hint?: string): ConfigError {
  if (word === undefined) return new ConfigError(message, directive.source, directive.name.length, hint);
  const source = { ...directive.source, line: word.line, column: word.column };
  return new ConfigError(message, source, word.text.length + (word.quote === undefined ? 0 : 2), hint);
}

/** Order of two errors in the configuration as it is read: an included file is at the place of its `include` line. */
export function byPosition(a: ConfigError, b: ConfigError): number {
  const left = includeChain(a.source);
  const right = includeChain(b.source);
  for (let i = 0; i < left.length && i < right.length; i++) {
    const [one, other] = [left[i], right[i]];
    if (one === undefined || other === undefined) break;
    const order = compareText(one.file, other.file) || one.line - other.line || one.column - other.column;
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** From the main file down to the place itself. */
function includeChain(source: Source | undefined): readonly Source[] {
  const chain: Source[] = [];
  for (let at = source; at !== undefined; at = at.from) chain.push(at);
  return chain.reverse();
}
