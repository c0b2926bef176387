import test from 'ava';
import { judge } from '../../tools/bench/goals.js';
import { intoReport } from '../../tools/bench/into-report.js';
import { fullPace } from '../../tools/bench/lab.js';
import { report, type Run } from '../../tools/bench/report.js';
import type { Result } from '../../tools/bench/results.js';
import type { Scenario } from '../../tools/bench/scenario.js';
import { allScenarios } from '../../tools/bench/scenarios/all.js';

const [first, second, cluster] = ['static-1k', 'start', 'cluster-rate'].map((name) => allScenarios.find((one) => one.name === name)) as [
  Scenario,
  Scenario,
  Scenario,
];

function run(date: string, results: readonly (readonly [Scenario, Record<string, number>])[]): Run {
  const measured = results.map(([scenario, figures]): Result => ({
    scenario,
    samples: [{ server: 'srv', round: 1, figures, faults: [] }],
  }));
  return {
    date: new Date(date),
    machine: {
      processor: 'A processor',
      cores: 2,
      memory: '1 GiB',
      kernel: 'Linux',
      fileSystem: 'ext4',
      versions: {},
      loadBefore: 0.25,
      sharedCores: false,
    },
    cores: { all: [0, 1], server: [0], load: [1], backend: [1] },
    pace: fullPace,
    rounds: 1,
    quick: false,
    ours: 'srv',
    missing: [],
    results: measured,
    goals: judge(measured, 'srv'),
  };
}

const sectionsOf = (text: string): string[] => [...text.matchAll(/^### .*\(`(.*)`\)$/gm)].map(([, name]) => name!);

test('what is measured again takes the place of the same in a report, and the rest of it stays as it is', (t) => {
  const earlier = report(
    run('2026-01-01', [
      [first, { rps: 1 }],
      [second, { ms: 300 }],
    ]),
  );
  const now = run('2026-02-01', [
    [second, { ms: 400 }],
    [cluster, { off: 0.5 }],
  ]);
  const whole = intoReport(earlier, now, allScenarios);
  t.deepEqual(sectionsOf(whole), ['static-1k', 'start', 'cluster-rate']);
  t.regex(whole, /\| Start with one worker +\| below 350 ms +\| 400.00 ms +\| missed +\|/);
  t.regex(whole, /\| Rate over three nodes: off by +\| at most 5 % +\| 0.50 % +\| reached +\|/);
  t.regex(whole, /^- 2026-01-01, A processor/m);
  t.regex(whole, /^- `start`, `cluster-rate`: 2026-02-01, load average before it 0.25, rounds: 1$/m);

  const third = run('2026-03-01', [[cluster, { off: 6 }]]);
  const again = intoReport(whole, third, allScenarios);
  t.regex(again, /\| Start with one worker +\| below 350 ms +\| 400.00 ms +\| missed +\|/);
  t.regex(again, /\| Rate over three nodes: off by +\| at most 5 % +\| 6.00 % +\| missed +\|/);
  t.is(intoReport(again, third, allScenarios), again);
});
