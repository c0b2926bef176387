import { ConfigError, ConfigErrors } from '../config/errors.js';
import { parseText } from '../config/parser.js';
import { ConfigTree, type DirectiveData, type IdSource } from '../config/tree.js';
import type { Directive } from '../module/tree.js';

/** What errors call text that came through the API. */
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

/** Plain data as directives that can be asked for what is in their blocks. */
export function toDirectives(data: readonly DirectiveData[]): Directive[] {
  return [...ConfigTree.fromData(data).root];
}
