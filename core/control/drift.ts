import { readable } from './address.js';
import type { OverlayRow } from './store-tables.js';

/**
 * What the API changed, against the files, as lines such as
 *
 *     http / upstream demo
 *     + server 10.0.0.1:80;
 *     - server 10.0.0.2:80;
 *
 * A line without a sign names the block that the following ones are in. Lines with `!` say what was dropped, because the file has no place
 * for it any more.
 */
export function driftLines(rows: Iterable<OverlayRow>, dropped: readonly string[] = []): string[] {
  const lines: string[] = [];
  for (const [parent, changes] of Map.groupBy(rows, (row) => row.parent)) {
    const changed = changes.flatMap(changeLines);
    if (changed.length > 0) lines.push(readable(parent), ...changed);
  }
  return [...lines, ...dropped.map((line) => `! ${line}`)];
}

function changeLines({ op, text, was }: OverlayRow): string[] {
  const before = was === undefined ? [] : signed('-', was);
  return op === 'remove' ? before : [...before, ...signed('+', text)];
}

function signed(sign: '+' | '-', text: string): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `${sign} ${line}`);
}
