import { pickScenarios } from './scenarios/picks.js';
import { faultsOf, figureSpread, ratioSpread, type Result } from './results.js';
import type { Spread } from './statistics.js';

const comparisons = {
  'at most': (value: number, limit: number) => value <= limit,
  'at least': (value: number, limit: number) => value >= limit,
  below: (value: number, limit: number) => value < limit,
};

/** Goals of srv. */
interface Goal {
  readonly text: string;
  /** Name of the measurement. */
  readonly scenario: string;
  readonly key: string;
  /** The figure divided by nginx's of the same round, or the figure itself. */
  readonly kind: 'ratio' | 'figure';
  readonly compare: keyof typeof comparisons;
  readonly limit: number;
  readonly unit: string;
}

/** Each way of choosing among 10,000 members against 3. */
const pickGoals = pickScenarios.flatMap(({ name, title }) =>
  [
    ['equal', ''],
    ['weighted', ', with weights'],
    ['halfDown', ', half down'],
  ].map(([key = '', kind]): Goal => ({
    text: `${title}${kind}`,
    scenario: name,
    key,
    kind: 'figure',
    compare: 'at most',
    limit: 3,
    unit: '×',
  })),
);

const goals: readonly Goal[] = [
  { text: '1 KB proxied: CPU per request', scenario: '1k', key: 'cpu', kind: 'ratio', compare: 'at most', limit: 1, unit: '× nginx' },
  { text: '10 MB proxied: CPU per GiB', scenario: '10m', key: 'cpu', kind: 'ratio', compare: 'at most', limit: 0.45, unit: '× nginx' },
  {
    text: 'TCP: CPU per small round trip',
    scenario: 'stream-rtt',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 0.9,
    unit: '× nginx',
  },
  { text: 'TCP: CPU per GiB', scenario: 'stream-gb', key: 'cpu', kind: 'ratio', compare: 'at most', limit: 1.2, unit: '× nginx' },
  {
    text: 'New connection per request: CPU',
    scenario: 'conn',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1.25,
    unit: '× nginx',
  },
  { text: 'TLS keep-alive: CPU per request', scenario: 'tls', key: 'cpu', kind: 'ratio', compare: 'at most', limit: 1.05, unit: '× nginx' },
  { text: 'HTTP/2: CPU per request', scenario: 'h2', key: 'cpu', kind: 'ratio', compare: 'at most', limit: 0.7, unit: '× nginx' },
  {
    text: 'HTTP/2 to members: CPU per request',
    scenario: 'h2-member',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 0.8,
    unit: '× nginx',
  },
  {
    text: 'UDP: CPU per datagram and its response',
    scenario: 'udp',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 0.8,
    unit: '× nginx',
  },
  {
    text: 'File of 1 KB: CPU per request',
    scenario: 'static-1k',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1,
    unit: '× nginx',
  },
  {
    text: 'File of 10 MB: CPU per GiB',
    scenario: 'static-10m',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1,
    unit: '× nginx',
  },
  {
    text: '10 KB of text, compressed: CPU per request',
    scenario: 'gzip',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1.3,
    unit: '× nginx',
  },
  ...[
    { text: '1 KB proxied, saturated: p99', scenario: '1k', key: 'p99', limit: 1.3 },
    { text: 'TLS, a full handshake for each request: CPU', scenario: 'tls-full', key: 'cpu', limit: 1.1 },
    { text: 'TLS, a resumed session for each request: CPU', scenario: 'tls-resumed', key: 'cpu', limit: 1.2 },
    { text: 'HTTP/2 over TLS: CPU per request', scenario: 'h2-tls', key: 'cpu', limit: 0.7 },
    { text: 'File of 10 MB over TLS: CPU per GiB', scenario: 'static-10m-tls', key: 'cpu', limit: 1 },
  ].map((goal): Goal => ({ ...goal, kind: 'ratio', compare: 'at most', unit: '× nginx' })),
  {
    text: 'Idle keep-alive connection over TLS',
    scenario: 'idle-tls',
    key: 'each',
    kind: 'figure',
    compare: 'at most',
    limit: 20,
    unit: 'KiB',
  },
  { text: 'Idle keep-alive connection', scenario: 'idle', key: 'each', kind: 'figure', compare: 'at most', limit: 3, unit: 'KiB' },
  ...['640', '2400', '9600'].map((rate): Goal => ({
    text: `${rate} requests/s: CPU per request`,
    scenario: `${rate}rps`,
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1.1,
    unit: '× nginx',
  })),
  {
    text: 'Statistics against none: CPU per request of 1 KB',
    scenario: 'signals',
    key: 'statisticsRatio',
    kind: 'figure',
    compare: 'at most',
    limit: 1.03,
    unit: '×',
  },
  {
    text: 'Logs, metrics and telemetry as well, against none',
    scenario: 'signals',
    key: 'allRatio',
    kind: 'figure',
    compare: 'at most',
    limit: 1.03,
    unit: '×',
  },
  ...[
    ['list', 'Figures of 10,000 members: longest stop of the data plane'],
    ['text', 'Their text: longest stop of the control plane'],
    ['pages', '/v1/vts of 10,000 members: longest stop'],
    ['rates', 'Rates of 10,000 members: longest stop'],
  ].map(([key = '', text = '']): Goal => ({ text, scenario: 'scrape', key, kind: 'figure', compare: 'at most', limit: 5, unit: 'ms' })),
  ...[
    { text: 'Telemetry: a request that is not sampled, by ratio', key: 'byRatio', limit: 0.3 },
    { text: 'Telemetry: one that the client has not sampled', key: 'byClient', limit: 0.3 },
    { text: 'Telemetry: a sampled request', key: 'sampled', limit: 10 },
  ].map((goal): Goal => ({ ...goal, scenario: 'telemetry', kind: 'figure', compare: 'at most', unit: 'µs' })),
  { text: 'Idle connections: core busy', scenario: 'idle', key: 'busy', kind: 'figure', compare: 'below', limit: 0.1, unit: '%' },
  {
    text: 'Index of a cache: each of a million responses',
    scenario: 'cache-index',
    key: 'each',
    kind: 'figure',
    compare: 'at most',
    limit: 150,
    unit: 'bytes',
  },
  {
    text: 'Its longest stop: a response that another one goes for',
    scenario: 'cache-index',
    key: 'evict',
    kind: 'figure',
    compare: 'at most',
    limit: 2,
    unit: 'ms',
  },
  { text: 'Its longest stop: a purge', scenario: 'cache-index', key: 'purge', kind: 'figure', compare: 'at most', limit: 2, unit: 'ms' },
  {
    text: 'Its longest stop: a response into full memory',
    scenario: 'cache-index',
    key: 'memory',
    kind: 'figure',
    compare: 'at most',
    limit: 2,
    unit: 'ms',
  },
  {
    text: '1 KB from a cache in memory: CPU per request',
    scenario: 'memory-1k',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 0.8,
    unit: '× nginx',
  },
  {
    text: '1 KB from a cache in files: CPU per request',
    scenario: 'hit-1k',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1.5,
    unit: '× nginx',
  },
  {
    text: '10 MB from a cache: CPU per GiB',
    scenario: 'hit-10m',
    key: 'cpu',
    kind: 'ratio',
    compare: 'at most',
    limit: 1.1,
    unit: '× nginx',
  },
  {
    text: '90 % from a cache, saturated: p99',
    scenario: 'mixed-1k',
    key: 'p99',
    kind: 'ratio',
    compare: 'at most',
    limit: 2,
    unit: '× nginx',
  },
  { text: 'Start with one worker', scenario: 'start', key: 'ms', kind: 'figure', compare: 'below', limit: 350, unit: 'ms' },
  { text: 'Further worker: CPU', scenario: 'start', key: 'eachCpu', kind: 'figure', compare: 'below', limit: 60, unit: 'ms' },
  { text: 'Further worker: memory', scenario: 'start', key: 'eachMemory', kind: 'figure', compare: 'below', limit: 15, unit: 'MiB' },
  { text: 'Two workers against one', scenario: 'workers', key: 'scaling', kind: 'figure', compare: 'at least', limit: 1.9, unit: '×' },
  { text: 'Member add, 10 members: p99', scenario: 'members', key: 'smallP99', kind: 'figure', compare: 'below', limit: 10, unit: 'ms' },
  {
    text: 'Member add, 100,000 members: p99',
    scenario: 'members',
    key: 'largeP99',
    kind: 'figure',
    compare: 'below',
    limit: 10,
    unit: 'ms',
  },
  {
    text: 'Member add, 100,000 against 10: p50',
    scenario: 'members',
    key: 'growth',
    kind: 'figure',
    compare: 'at most',
    limit: 2,
    unit: '×',
  },
  {
    text: '10,000 members checked every 5 s: core busy',
    scenario: 'health',
    key: 'busy',
    kind: 'figure',
    compare: 'below',
    limit: 20,
    unit: '%',
  },
  {
    text: 'Change among 10,000 locations: p99',
    scenario: 'locations',
    key: 'largeP99',
    kind: 'figure',
    compare: 'below',
    limit: 10,
    unit: 'ms',
  },
  {
    text: 'Change among 10,000 locations against 10: CPU of the worst kind',
    scenario: 'locations',
    key: 'worst',
    kind: 'figure',
    compare: 'at most',
    limit: 2,
    unit: '×',
  },
  {
    text: 'Start with 10,000 locations',
    scenario: 'locations',
    key: 'largeStart',
    kind: 'figure',
    compare: 'below',
    limit: 3000,
    unit: 'ms',
  },
  ...[
    { text: 'Change of the worst kind: p50', key: 'smallP50', compare: 'below', limit: 2, unit: 'ms' } as const,
    { text: 'Change of the worst kind: p99', key: 'smallP99', compare: 'below', limit: 10, unit: 'ms' } as const,
    { text: 'The same with 10,000 upstreams: p50', key: 'largeP50', compare: 'below', limit: 4, unit: 'ms' } as const,
    { text: 'The same with 10,000 upstreams: p99', key: 'largeP99', compare: 'below', limit: 20, unit: 'ms' } as const,
    { text: 'Start with 10,000 upstreams of 10 members', key: 'largeStart', compare: 'below', limit: 10_000, unit: 'ms' } as const,
    { text: 'Its memory', key: 'largeMemory', compare: 'below', limit: 1536, unit: 'MB' } as const,
    { text: 'Memory after 100,000 additions and removals', key: 'cycles', compare: 'at most', limit: 1.1, unit: '× before' } as const,
  ].map((goal): Goal => ({ ...goal, scenario: 'changes', kind: 'figure' })),
  { text: 'Changes under load', scenario: 'change-rate', key: 'rate', kind: 'figure', compare: 'at least', limit: 1000, unit: '1/s' },
  {
    text: 'p99 of the traffic meanwhile',
    scenario: 'change-rate',
    key: 'ratio',
    kind: 'figure',
    compare: 'at most',
    limit: 2,
    unit: '× before',
  },
  {
    text: 'Several nodes, 1,000 writes/s: a pair at another node, p99',
    scenario: 'cluster-pairs',
    key: 'lateP99',
    kind: 'figure',
    compare: 'below',
    limit: 50,
    unit: 'ms',
  },
  // Three times its bytes and 200.
  {
    text: 'Memory of Redis for a pair of 110 bytes',
    scenario: 'cluster-pairs',
    key: 'memory',
    kind: 'figure',
    compare: 'at most',
    limit: 530,
    unit: 'bytes',
  },
  {
    text: 'A node joins 100,000 pairs and 10,000 members',
    scenario: 'cluster-join',
    key: 'joined',
    kind: 'figure',
    compare: 'below',
    limit: 5000,
    unit: 'ms',
  },
  {
    text: 'Zone of three nodes with 100,000 keys: main thread',
    scenario: 'cluster-zones',
    key: 'main',
    kind: 'figure',
    compare: 'below',
    limit: 10,
    unit: '%',
  },
  {
    text: 'Rate over three nodes: off by',
    scenario: 'cluster-rate',
    key: 'off',
    kind: 'figure',
    compare: 'at most',
    limit: 5,
    unit: '%',
  },
  ...pickGoals,
];

export type Verdict = 'reached' | 'missed' | 'invalid' | 'not measured';

export interface GoalResult {
  readonly text: string;
  /** `at most 1.15 × nginx`. */
  readonly wanted: string;
  readonly measured: Spread | undefined;
  readonly unit: string;
  readonly verdict: Verdict;
}

/** Holds the results against the goals. The median over the rounds decides; a round with faults makes the goal invalid. */
export function judge(results: readonly Result[], ours: string): GoalResult[] {
  return goals.map((goal) => {
    const result = results.find(({ scenario }) => scenario.name === goal.scenario);
    const measured = result && measure(goal, result, ours);
    return {
      text: goal.text,
      wanted: `${goal.compare} ${goal.limit} ${goal.unit}`,
      measured,
      unit: goal.unit,
      verdict: verdict(goal, result, measured, ours),
    };
  });
}

function measure(goal: Goal, result: Result, ours: string): Spread | undefined {
  return goal.kind === 'ratio' ? ratioSpread(result, ours, 'nginx', goal.key) : figureSpread(result, ours, goal.key);
}

function verdict(goal: Goal, result: Result | undefined, measured: Spread | undefined, ours: string): Verdict {
  if (result === undefined) return 'not measured';
  const parties = goal.kind === 'ratio' ? [ours, 'nginx'] : [ours];
  if (parties.some((server) => faultsOf(result, server).length > 0)) return 'invalid';
  if (measured === undefined) return 'not measured';
  return comparisons[goal.compare](measured.median, goal.limit) ? 'reached' : 'missed';
}
