import { shownText } from '../module/secrets.js';
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
    const changed = withoutRestored(changes).flatMap(changeLines);
    if (changed.length > 0) lines.push(readable(parent), ...changed);
  }
  return [...lines, ...dropped.map((line) => `! ${line}`)];
}

/** What was removed and added again as the file has it is no difference, though it is another one by its key. */
function withoutRestored(rows: readonly OverlayRow[]): readonly OverlayRow[] {
  const removals = Map.groupBy(
    rows.filter(({ op }) => op === 'remove'),
    ({ was }) => was,
  );
  const restored = new Set<OverlayRow>();
  for (const row of rows) {
    const removal = row.op === 'add' ? removals.get(row.text)?.pop() : undefined;
    if (removal !== undefined) restored.add(row).add(removal);
  }
  return rows.filter((row) => !restored.has(row));
}

function changeLines({ op, text, was }: OverlayRow): string[] {
  const before = was === undefined ? [] : signed('-', was);
  return op === 'remove' ? before : [...before, ...signed('+', text)];
}

function signed(sign: '+' | '-', text: string): string[] {
  return shownText(text)
    .trimEnd()
    .split('\n')
    .map((line) => `${sign} ${line}`);
}
