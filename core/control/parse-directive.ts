import { ErrorCollector } from '../config/error-collector.js';
import { ConfigError, ConfigErrors } from '../config/errors.js';
import { parseText } from '../config/parser.js';
import { ConfigTree, type DirectiveData, type IdSource } from '../config/tree.js';
import type { Directive, NewDirective, SentText, Source } from '../module/tree.js';

/** What errors call text that came through the API; the JSON pointer of its field may follow. */
export const API_TEXT = '(api)';

/**
 * One directive of text that came through the API. It is parsed alone: it can close no block around it and include no file.
 * @throws ConfigErrors when it is not exactly one directive
 */
export function parseDirective(text: string, ids: IdSource): DirectiveData {
  const { directives, errors } = parseText(text, { ids, file: API_TEXT });
  if (errors.length > 0) throw new ConfigErrors(errors);
  const [first, second] = directives;
  if (first === undefined) throw new ConfigErrors([new ConfigError('a directive is missing', { file: API_TEXT, line: 1, column: 1 })]);
  if (second !== undefined) throw new ConfigErrors([new ConfigError('one directive is expected', second.source, second.name.length)]);
  return first;
}

/**
 * The directive of an edit: parsed, or made of data.
 * @throws ConfigErrors when its text is not exactly one directive, or for the text in its block; they name the field the text came in
 */
export function editedDirective(directive: string | NewDirective, ids: IdSource): DirectiveData {
  if (typeof directive === 'string') return parseDirective(directive, ids);
  const errors = new ErrorCollector();
  const made = madeDirective(directive, ids, errors);
  errors.throwIfAny();
  return made;
}

/** Nobody wrote it, so it has no line. */
const NOWHERE = { file: API_TEXT, line: 0, column: 0 };

function madeDirective({ name, words, block }: NewDirective, ids: IdSource, errors: ErrorCollector): DirectiveData {
  const args = words.map((text) => ({ text, line: 0, column: 0 }));
  const children = block?.flatMap((part) => ('text' in part ? sentDirectives(part, ids, errors) : madeDirective(part, ids, errors)));
  return { id: ids.next(), name, args, source: NOWHERE, ...(children && { block: children }) };
}

function sentDirectives({ text, pointer }: SentText, ids: IdSource, errors: ErrorCollector): readonly DirectiveData[] {
  const parsed = parseText(text, { ids, file: API_TEXT + pointer });
  for (const error of parsed.errors) errors.add(error);
  return parsed.directives;
}

/** Where in a call something was written, undefined for what is of a file. */
export function placeInCall({ file, line, column }: Source): CallPlace | undefined {
  if (!file.startsWith(API_TEXT)) return undefined;
  const pointer = file.slice(API_TEXT.length);
  return { ...(pointer !== '' && { pointer }), ...(line > 0 && { line, column }) };
}

export interface CallPlace {
  /** JSON pointer of a field. */
  readonly pointer?: string;
  readonly line?: number;
  readonly column?: number;
}

/** Plain data as directives that can be asked for what is in their blocks. */
export function toDirectives(data: readonly DirectiveData[]): Directive[] {
  return [...ConfigTree.fromData(data).root];
}
