import { withShortCertificates } from '../config/shown-certificates.js';
import { shownText } from '../contract/secrets.js';
import { readable } from './address.js';
import type { OverlayRow } from './store-tables.js';

/**
 * Changes of the API compared with the files, as lines such as
 *
 *     http / upstream demo
 *     + server 10.0.0.1:80;
 *     - server 10.0.0.2:80;
 *
 * A line without a sign names the block that the following ones are in. Lines with `!` name dropped changes, for which the file has no
 * place any more.
 */
export function driftLines(rows: Iterable<OverlayRow>, dropped: readonly string[] = []): string[] {
  const lines: string[] = [];
  for (const [parent, changes] of Map.groupBy(rows, (row) => row.parent)) {
    const changed = withoutRestored(changes).flatMap(changeLines);
    if (changed.length > 0) lines.push(readable(parent), ...changed);
  }
  return [...lines, ...dropped.map((line) => `! ${line}`)];
}

/** A directive that was removed and added again as in the file is not a difference, although its key is new. */
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
  return withShortCertificates(shownText(text))
    .trimEnd()
    .split('\n')
    .map((line) => `${sign} ${line}`);
}
