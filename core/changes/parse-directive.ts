import { ErrorCollector } from '../config/error-collector.js';
import { ConfigError, ConfigErrors } from '../config/errors.js';
import { parseText } from '../config/parser.js';
import type { DirectiveData, IdSource } from '../config/tree.js';
import type { NewDirective, SentText, Source } from '../contract/tree.js';

/** Name in errors of text that came through the API; the JSON pointer of its field may follow. */
export const API_TEXT = '(api)';

/** The same for text of one call of a transaction with several. @param transaction a number that no other one has in this process */
export const textOfCall = (transaction: number, call: number): string => `(api ${transaction}.${call})`;

/** The call of a transaction that something was written in; undefined for what came otherwise. */
export function callOf({ file }: Source, transaction: number): number | undefined {
  const [, of, call] = /^\(api (\d+)\.(\d+)\)/.exec(file) ?? [];
  return Number(of) === transaction ? Number(call) : undefined;
}

/**
 * One directive of text that came through the API. It is parsed alone: it can close no block around it and include no file.
 * @throws ConfigErrors when it is not exactly one directive
 */
export function parseDirective(text: string, ids: IdSource, file = API_TEXT): DirectiveData {
  const { directives, errors } = parseText(text, { ids, file });
  if (errors.length > 0) throw new ConfigErrors(errors);
  const [first, second] = directives;
  if (first === undefined) throw new ConfigErrors([new ConfigError('a directive is missing', { file, line: 1, column: 1 })]);
  if (second !== undefined) throw new ConfigErrors([new ConfigError('one directive is expected', second.source, second.name.length)]);
  return first;
}

/**
 * The directive of an edit: parsed, or made of data.
 * @param file what errors call the text
 * @throws ConfigErrors when its text is not exactly one directive, or for the text in its block; they name the field the text came in
 */
export function editedDirective(directive: string | NewDirective, ids: IdSource, file = API_TEXT): DirectiveData {
  if (typeof directive === 'string') return parseDirective(directive, ids, file);
  const errors = new ErrorCollector();
  const made = madeDirective(directive, { ids, file, errors });
  errors.throwIfAny();
  return made;
}

interface Making {
  readonly ids: IdSource;
  readonly file: string;
  readonly errors: ErrorCollector;
}

/** It was not written by anyone, so it has no line. */
function madeDirective({ name, words, block, pointer = '' }: NewDirective, making: Making): DirectiveData {
  const args = words.map((text) => ({ text, line: 0, column: 0 }));
  const children = block?.flatMap((part) => ('text' in part ? sentDirectives(part, making) : madeDirective(part, making)));
  return {
    id: making.ids.next(),
    name,
    args,
    source: { file: making.file + pointer, line: 0, column: 0 },
    ...(children && { block: children }),
  };
}

function sentDirectives({ text, pointer }: SentText, { ids, file, errors }: Making): readonly DirectiveData[] {
  const parsed = parseText(text, { ids, file: file + pointer });
  for (const error of parsed.errors) errors.add(error);
  return parsed.directives;
}

/** The same place in the text of another call. Places in files stay. */
export function inCall(source: Source, file: string): Source {
  return { ...source, file: source.file.replace(/^\(api(?: \d+\.\d+)?\)/, () => file) };
}

/** Where in a call something was written, undefined for what is of a file. */
export function placeInCall({ file, line, column }: Source): CallPlace | undefined {
  const [, pointer] = /^\(api(?: \d+\.\d+)?\)(.*)$/s.exec(file) ?? [];
  if (pointer === undefined) return undefined;
  return { ...(pointer !== '' && { pointer }), ...(line > 0 && { line, column }) };
}

export interface CallPlace {
  /** JSON pointer of a field. */
  readonly pointer?: string;
  readonly line?: number;
  readonly column?: number;
  /** Of text of an earlier call: `http / server / location /x`. */
  readonly place?: string;
}
