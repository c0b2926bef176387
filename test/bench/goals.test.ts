import { join } from 'node:path';
import test from 'ava';
import { withEarlier } from '../../tools/bench/earlier.js';
import { judge } from '../../tools/bench/goals.js';
import { ratioSpread, type Result, type Sample } from '../../tools/bench/results.js';
import type { Scenario } from '../../tools/bench/scenario.js';
import { throughputScenarios } from '../../tools/bench/scenarios/throughput.js';
import { tempFolder } from '../harness/temp.js';

const scenario = throughputScenarios.find(({ name }) => name === '1k') as Scenario;

function sample(server: string, round: number, cpu: number, faults: string[] = []): Sample {
  return { server, round, figures: { cpu }, faults };
}

function verdict(samples: Sample[]): string | undefined {
  return judge([{ scenario, samples }], 'srv').find(({ text }) => text.startsWith('1 KB'))?.verdict;
}

test('ratios are taken in each round, and their median counts', (t) => {
  // The machine is slower in round 2: the figures differ, the ratio hardly does.
  const samples = [
    sample('srv', 1, 9),
    sample('nginx', 1, 10),
    sample('srv', 2, 27),
    sample('nginx', 2, 30),
    sample('srv', 3, 10),
    sample('nginx', 3, 10),
  ];
  const result: Result = { scenario, samples };
  t.deepEqual(ratioSpread(result, 'srv', 'nginx', 'cpu'), { median: 0.9, min: 0.9, max: 1 });
  t.is(verdict(samples), 'reached');
});

test('a goal is missed when the median is beyond the limit', (t) => {
  t.is(verdict([sample('srv', 1, 12), sample('nginx', 1, 10)]), 'missed');
});

test('a fault in one round makes the goal invalid, of either server', (t) => {
  t.is(verdict([sample('srv', 1, 10), sample('srv', 2, 10, ['wrk: 3 read errors']), sample('nginx', 1, 10)]), 'invalid');
  t.is(verdict([sample('srv', 1, 10), sample('nginx', 1, 10, ['did not answer'])]), 'invalid');
});

test('what was not measured is neither reached nor missed', (t) => {
  t.is(verdict([]), 'not measured');
  t.is(verdict([sample('srv', 1, 10)]), 'not measured');
  t.true(judge([], 'srv').every((goal) => goal.verdict === 'not measured'));
});

test('a run goes on from an earlier one: what is measured again replaces what was measured then', (t) => {
  const [first, second, third] = throughputScenarios as [Scenario, Scenario, Scenario];
  const results = [
    { scenario: second, samples: [sample('srv', 1, 20)] },
    { scenario: first, samples: [sample('srv', 1, 10)] },
  ];
  const file = join(tempFolder(t, { 'figures.json': JSON.stringify({ results }) }), 'figures.json');
  const whole = withEarlier(file, [{ scenario: second, samples: [sample('srv', 1, 21)] }], [first, second, third]);
  t.deepEqual(
    whole.map(({ scenario: { name }, samples }) => [name, samples[0]?.figures['cpu']]),
    [
      [first.name, 10],
      [second.name, 21],
    ],
  );
});
