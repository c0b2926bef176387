import type { Run } from './report.js';
import { goalRows, goalsTable, resultSection } from './report.js';
import type { Scenario } from './scenario.js';

const MACHINE = '## The machine';

/**
 * Puts what was measured now in the place of the same in an earlier report, or where it belongs; the rest stays as it is: a complete run takes most of an hour.
 * @param scenarios in the order of the report
 */
export function intoReport(earlier: string, run: Run, scenarios: readonly Scenario[]): string {
  const sections = sectionsOf(earlier);
  for (const result of run.results) sections.set(result.scenario.name, resultSection(result));
  const measured = scenarios.flatMap(({ name }) => sections.get(name) ?? []);
  const [, lead = ''] = /\n## Measurements\n\n(.*?)\n/s.exec(earlier) ?? [];
  const before = earlier.slice(0, earlier.indexOf('## Goals'));
  const after = earlier.slice(earlier.indexOf(`${MACHINE}\n`)).split('\n\n');
  const names = run.results.map(({ scenario }) => `\`${scenario.name}\``).join(', ');
  const note = `- ${names}: ${run.date.toISOString().slice(0, 10)}, load average before it ${run.machine.loadBefore.toFixed(2)}, rounds: ${run.rounds}`;
  after[1] = [...(after[1] ?? '').split('\n').filter((line) => !line.startsWith(`- ${names}:`)), note].join('\n');
  return [`${before}## Goals`, goals(earlier, run), '## Measurements', lead, ...measured, after.join('\n\n')].join('\n\n');
}

function sectionsOf(report: string): Map<string, string> {
  const text = report.slice(report.indexOf('## Measurements'), report.indexOf(`${MACHINE}\n`));
  return new Map(
    text
      .split(/^(?=### )/m)
      .slice(1)
      .map((section) => [/\(`([^`]+)`\)$/m.exec(section)?.[1] ?? '', section.trim()]),
  );
}

/** All goals; a goal that was not measured now is as it is in the earlier report. */
function goals(earlier: string, run: Run): string {
  const then = new Map(
    earlier.split('\n').flatMap((line) => {
      const row = line.startsWith('| ') ? cellsOf(line) : [];
      return row[0] === undefined ? [] : [[row[0], row] as const];
    }),
  );
  return goalsTable(
    goalRows(run.goals).map((row, at) => (run.goals[at]?.verdict === 'not measured' ? (then.get(row[0] ?? '') ?? row) : row)),
  );
}

function cellsOf(line: string): readonly string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}
