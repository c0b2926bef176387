import { printable } from './table.js';

const COLORS = { '+': '\x1b[32m', '-': '\x1b[31m' } as const;
const BOLD = '\x1b[1m';
const END = '\x1b[0m';

/** Lines of a difference. @param color for a terminal */
export function diffLines(diff: readonly string[], color: boolean): readonly string[] {
  return diff.map(printable).map((line) => {
    if (!color) return line;
    const sign = line.charAt(0);
    return `${sign === '+' || sign === '-' ? COLORS[sign] : BOLD}${line}${END}`;
  });
}

/** True if the output is a terminal that shows colours (no-color.org). */
export function wantsColor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
