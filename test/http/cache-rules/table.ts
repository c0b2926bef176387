/** All rows, and the table of docs/cache-rules.md that lists them. */
import { freshnessRows } from './freshness-rows.js';
import { partialRows } from './partial-rows.js';
import { requestRows } from './request-rows.js';
import type { Row } from './row.js';
import { validationRows } from './validation-rows.js';

export const ROWS: readonly Row[] = [...freshnessRows, ...requestRows, ...validationRows, ...partialRows];

const OUTCOMES = { stored: 'stored one', member: 'from the member', validated: 'validated' };

/** Sections with the behaviours and the source of the last response. */
export function behaviourTable(): string {
  const bySection = new Map<string, string[]>();
  for (const row of ROWS) {
    const texts = bySection.get(row.rule) ?? [];
    bySection.set(row.rule, [...texts, `${row.what.replaceAll('|', '\\|')} → ${outcomeOf(row)}`]);
  }
  const sections = [...bySection].toSorted(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }));
  const lines = sections.map(([rule, texts]) => `| ${rule.replace(' ', ', ')} | ${texts.join('<br>')} |`);
  return ['| RFC or draft | Request, or response of the member → second response |', '| --- | --- |', ...lines].join('\n');
}

function outcomeOf({ steps }: Row): string {
  const last = steps.at(-1) ?? {};
  const status = last.gets === undefined || last.gets === 200 ? [] : [String(last.gets)];
  return [...(last.from === undefined ? [] : [OUTCOMES[last.from]]), ...status].join(', ') || 'stored one';
}
