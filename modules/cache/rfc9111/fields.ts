/** Fields of a stored response: which are stored (RFC 9111, 3.1), and which a validation changes (3.2). */

/** Values by names in lower case; those of a repeated field joined with `, `. */
export type Fields = ReadonlyMap<string, string>;

export type Line = readonly [name: string, value: string];

/** Fields of one connection or one proxy (RFC 9110, 7.6.1; RFC 9111, 3.1). */
const NEVER_STORED = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Fields that say how the stored body is to be read: a validation does not change that. */
const OF_THE_BODY = new Set(['content-encoding', 'content-range']);

/** @param ignored fields that have no effect, lower case */
export function fieldsOf(lines: readonly Line[], ignored: ReadonlySet<string>): Fields {
  const fields = new Map<string, string>();
  for (const [name, value] of lines) {
    const lower = name.toLowerCase();
    if (ignored.has(lower)) continue;
    const before = fields.get(lower);
    fields.set(lower, before === undefined ? value : `${before}, ${value}`);
  }
  return fields;
}

/** @param omitted names in lower case that Cache-Control takes from the stored response */
export function storedLines(lines: readonly Line[], omitted: readonly string[]): readonly Line[] {
  const names = new Set([...omitted, ...connectionNames(lines)]);
  return lines.filter(([name]) => {
    const lower = name.toLowerCase();
    return !NEVER_STORED.has(lower) && !names.has(lower);
  });
}

function connectionNames(lines: readonly Line[]): readonly string[] {
  const names = lines.flatMap(([name, value]) => (name.toLowerCase() === 'connection' ? value.toLowerCase().split(',') : []));
  return names.map((name) => name.trim());
}

/** The fields of a stored response after a 304, or the response to a HEAD, with these: each takes the place of all of its name. */
export function freshenedLines(stored: readonly Line[], news: readonly Line[], omitted: readonly string[]): readonly Line[] {
  const changed = storedLines(news, omitted).filter(([name]) => !OF_THE_BODY.has(name.toLowerCase()));
  const names = new Set([...changed.map(([name]) => name.toLowerCase()), ...omitted]);
  return [...stored.filter(([name]) => !names.has(name.toLowerCase())), ...changed];
}

/** Lines of a head as {@link textOf} writes it. */
export function linesOf(head: string): readonly Line[] {
  const lines = head.split('\r\n').slice(1, -2);
  return lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
}

/** A head; the engine knows the reason phrases. */
export function textOf(status: number, lines: readonly Line[]): string {
  return `HTTP/1.1 ${status} \r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
