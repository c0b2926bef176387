import type { HttpVariables } from './variables.js';

/** A directive of a tree, or one as plain data. */
export interface Captured {
  readonly name: string;
  readonly args: readonly { readonly text: string }[];
  readonly block?: Iterable<Captured> | undefined;
}

const SCOPES = new Set(['http', 'server', 'location']);
const NAMED_GROUP = /\(\?P?<([A-Za-z_]\w*)>/g;

/**
 * Makes the named groups of all regular expressions in `server_name` and `location` variables, so that whatever stands before or after them
 * may use them. Called before a configuration is checked.
 */
export function defineCaptureVariables(directives: Iterable<Captured>, variables: HttpVariables): void {
  for (const { name, args, block } of directives) {
    if (name === 'server_name' || name === 'location') for (const { text } of args) defineGroups(text, variables);
    if (block !== undefined && SCOPES.has(name)) defineCaptureVariables(block, variables);
  }
}

function defineGroups(pattern: string, variables: HttpVariables): void {
  for (const [, name = ''] of pattern.matchAll(NAMED_GROUP)) variables.defineCapture(name);
}
