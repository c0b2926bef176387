/** Modules for tests, as plain JavaScript: the text of a file for `modules/` of a prefix. */

export interface PluginSource {
  readonly kind?: 'http' | 'stream' | 'control' | 'core' | 'helper';
  /** The manifest as an object literal without the name and, unless `api` is in it, the api version. */
  readonly manifest?: string;
  /** The body of the class. */
  readonly body?: string;
  readonly imports?: string;
}

/** A module file that a stranger could have written: it knows the contract and nothing else. */
export function plugin(name: string, { kind = 'http', manifest = '', body = '', imports = '' }: PluginSource = {}): string {
  return `
import { ${kind}Module } from 'srv/module/manifest.js';
import { directive } from 'srv/module/spec.js';
import { text } from 'srv/module/args.js';
${imports}
export class Plugin {
${body}
}
${kind}Module({ name: '${name}', ${/\bapi\b/.test(manifest) ? '' : 'api: 1,'} ${manifest} })(Plugin);
`;
}
