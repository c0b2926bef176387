import { readFileSync } from 'node:fs';
import type { Run } from './report.js';
import type { Result } from './results.js';
import type { Scenario } from './scenario.js';

/**
 * The measurements of earlier runs of this machine, for measurements that were not made now: a complete run takes most of an hour.
 * @param file what `--json` of that run has written
 * @param now what was measured now, which replaces the same of then
 * @param scenarios in the order of the report
 */
export function withEarlier(file: string, now: readonly Result[], scenarios: readonly Scenario[]): Result[] {
  const earlier = (JSON.parse(readFileSync(file, 'utf8')) as Pick<Run, 'results'>).results;
  return scenarios.flatMap((scenario) => {
    const isOf = (result: Result): boolean => result.scenario.name === scenario.name;
    const found = now.find(isOf) ?? earlier.find(isOf);
    return found === undefined ? [] : [{ ...found, scenario }];
  });
}
