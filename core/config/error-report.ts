/** The text of configuration errors for people and for tools that read nginx's. */
import { shownText } from '../contract/secrets.js';
import type { Source } from '../contract/tree.js';
import { COMMAND_LINE, type ConfigError } from './errors.js';

export interface ReportOptions {
  /** Name at the start of each first line. */
  readonly program: string;
  /** A line of a file by its 1-based number, without line end; undefined if it cannot be had: it is left out then. */
  readonly readLine: (file: string, line: number) => string | undefined;
}

/** Longer source lines are cut around the word. */
const LINE_WIDTH = 120;

/** Unknown directives with the same hint that are reported in full. */
const FULL_REPORTS = 3;
/** Places in the line about the others. */
const SHORT_REPORTS = 8;

/**
 * For each error nginx's line (`srv: [emerg] unknown directive "foo" in /etc/srv.conf:12`), then the source line with a caret under the
 * word, the include chain and the hint, all indented. Where a module is missing, or a file is one of another program, there are many unknown
 * directives with the same hint: those after the first few share a line.
 */
export function formatConfigErrors(errors: readonly ConfigError[], options: ReportOptions): string {
  const alike = Map.groupBy(errors.filter(isUnknownDirective), ({ hint }) => hint);
  const others = [...alike.values()].map((group) => group.slice(FULL_REPORTS)).filter(({ length }) => length > 1);
  const short = new Set(others.flat());
  const full = errors.filter((error) => !short.has(error)).map((error) => formatError(error, options));
  return [...full, ...others.map((group) => formatShortly(group, options))].join('');
}

/** True if no loaded module has the directive. */
export function isUnknownDirective({ message }: ConfigError): boolean {
  return message.startsWith('unknown directive');
}

function formatShortly(errors: readonly ConfigError[], { program }: ReportOptions): string {
  const places = errors.slice(0, SHORT_REPORTS).map((error) => messageWithPlace(error).replace('unknown directive ', ''));
  const rest = errors.length - places.length;
  const hint = errors[0]?.hint;
  const text = `${places.join(', ')}${rest > 0 ? `, and ${rest} others` : ''}`;
  return `${program}: [emerg] ${errors.length} more unknown directives: ${text}\n${hint === undefined ? '' : `    ${hint}\n`}`;
}

function formatError(error: ConfigError, { program, readLine }: ReportOptions): string {
  const { source } = error;
  const lines = [`${program}: [emerg] ${messageWithPlace(error)}`];
  if (source !== undefined && source.file !== COMMAND_LINE) {
    lines.push(`    at ${source.file}:${source.line}:${source.column}`);
    const text = readLine(source.file, source.line) ?? '';
    if (text.trim() !== '') lines.push(...excerpt(source, shownText(text), error.length));
    for (let { from } = source; from !== undefined; from = from.from) lines.push(`    included from ${from.file}:${from.line}`);
  }
  if (error.hint !== undefined) lines.push(`    ${error.hint}`);
  return `${lines.join('\n')}\n`;
}

/** nginx's sentence: the message and ` in file:line`. */
export function messageWithPlace({ message, source }: ConfigError): string {
  if (source === undefined) return message;
  return source.file === COMMAND_LINE ? `${message} in ${COMMAND_LINE}` : `${message} in ${source.file}:${source.line}`;
}

function excerpt(source: Source, text: string, length: number): readonly string[] {
  const start = Math.max(0, Math.min(source.column - 1, text.length));
  const cut = start > LINE_WIDTH / 2 && text.length > LINE_WIDTH ? start - LINE_WIDTH / 4 : 0;
  const shown = text.slice(cut, cut + LINE_WIDTH);
  const at = start - cut;
  const carets = '^'.repeat(Math.max(1, Math.min(length, shown.length - at)));
  const gutter = ' '.repeat(String(source.line).length);
  return [`    ${source.line} | ${shown}`, `    ${gutter} | ${padding(shown, at)}${carets}`];
}

/** Blanks as wide as the start of the line: tabs stay tabs. */
function padding(text: string, length: number): string {
  return text.slice(0, length).replaceAll(/[^\t]/g, ' ');
}
