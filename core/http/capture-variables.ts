import type { HttpVariables } from './variables.js';

/** A directive of a tree, or one as plain data. */
export interface Captured {
  readonly name: string;
  readonly args: readonly { readonly text: string }[];
  readonly block?: Iterable<Captured> | undefined;
}

const SCOPES = new Set(['http', 'server', 'location']);
const WITH_PATTERNS = new Set(['server_name', 'location', 'proxy_redirect']);
const NAMED_GROUP = /\(\?(?:P?<|')([A-Za-z_]\w*)[>']/g;

/**
 * Makes the named groups of the regular expressions in a configuration variables, so that whatever stands before or after them
 * may use them. Called before a configuration is checked.
 */
export function defineCaptureVariables(directives: Iterable<Captured>, variables: HttpVariables): void {
  for (const { name, args, block } of directives) {
    if (WITH_PATTERNS.has(name)) for (const { text } of args) defineGroups(text, variables);
    if (block !== undefined && SCOPES.has(name)) defineCaptureVariables(block, variables);
  }
}

function defineGroups(pattern: string, variables: HttpVariables): void {
  for (const [, name = ''] of pattern.matchAll(NAMED_GROUP)) variables.defineCapture(name);
}
