import { errorAt, type ConfigError } from '../../config/errors.js';
import type { Word, Written } from '../../module/tree.js';
import type { HttpVariables } from './variables.js';

/** A directive of a tree, or one as plain data. */
export type Captured = Written & { readonly block?: Iterable<Captured> | undefined };

const SCOPES = new Set(['http', 'server', 'location']);
const WITH_PATTERNS = new Set(['server_name', 'location', 'proxy_redirect']);
const NAMED_GROUP = /\(\?(?:P?<|')([A-Za-z_]\w*)[>']/g;

/**
 * Makes the named groups of the regular expressions in a configuration variables, so that whatever stands before or after them
 * may use them. Called before a configuration is checked.
 * @returns a mistake for each name that a group cannot have
 */
export function defineCaptureVariables(directives: Iterable<Captured>, variables: HttpVariables): ConfigError[] {
  const mistakes: ConfigError[] = [];
  for (const directive of directives) {
    const { name, args, block } = directive;
    if (WITH_PATTERNS.has(name)) for (const word of args) mistakes.push(...defineGroups(directive, word, variables));
    if (block !== undefined && SCOPES.has(name)) mistakes.push(...defineCaptureVariables(block, variables));
  }
  return mistakes;
}

function* defineGroups(directive: Written, word: Word, variables: HttpVariables): Iterable<ConfigError> {
  for (const [, name = ''] of word.text.matchAll(NAMED_GROUP)) {
    try {
      variables.defineCapture(name);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      yield errorAt(directive, error.message, word, 'a named group is a variable: give it a name that none has');
    }
  }
}
