/** Settings that a start needs before the configuration is checked. */
import type { ParsedText } from '../config/parser.js';

/** Value of `daemon`. A configuration that cannot be read is rejected in the foreground. */
export function wantsDaemon(parsed: ParsedText): boolean {
  return parsed.errors.length === 0 && wordOf(parsed, 'daemon')?.toLowerCase() !== 'off';
}

/** The first argument of a directive of the main level. */
export function wordOf({ directives }: ParsedText, name: string): string | undefined {
  return directives.find((directive) => directive.name === name)?.args[0]?.text;
}
