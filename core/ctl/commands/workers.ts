import type { Arguments, Command } from '../command.js';
import { usageFailure } from '../failure.js';
import { table, valueText, type Row } from '../table.js';

const MIB = 1024 ** 2;

const TABLE = table([
  { title: 'THREAD', field: 'thread' },
  { title: 'EVENTS', text: (row) => valueText((row['events'] as Row | undefined)?.['method']) },
  { title: 'ACTIVE', text: (row) => valueText((row['connections'] as Row | undefined)?.['active']) },
  { title: 'REQUESTS', field: 'requests' },
  { title: 'BUSY', text: (row) => (row['utilization'] === undefined ? '' : `${Math.round(Number(row['utilization']) * 100)}%`) },
  { title: 'DELAY_P50', text: (row) => milliseconds(row, 'loop_delay', 'p50') },
  { title: 'DELAY_P99', text: (row) => milliseconds(row, 'loop_delay', 'p99') },
  { title: 'DELAY_MAX', text: (row) => milliseconds(row, 'loop_delay', 'max') },
  { title: 'GC_MAX', text: (row) => milliseconds(row, 'gc', 'max') },
  { title: 'HEAP', text: (row) => memory(row) },
  { title: 'STATE', text: (row) => (row['responding'] === false ? 'does not respond' : 'ok') },
]);

function milliseconds(row: Row, group: string, name: string): string {
  const value = (row[group] as Row | undefined)?.[name];
  return value === undefined ? '' : `${Number(value).toFixed(1)}ms`;
}

function memory({ memory: figures }: Row): string {
  if (figures === undefined) return '';
  const { heap_used: used, heap_limit: limit } = figures as Row;
  return `${Math.round(Number(used) / MIB)}/${Math.round(Number(limit) / MIB)}MB`;
}

interface View {
  readonly process: { readonly pid: number; readonly rss: number; readonly restarts: number; readonly descriptors?: Row };
  readonly main: Row;
  readonly workers: readonly Row[];
}

export const WORKERS: readonly Command[] = [
  {
    words: 'workers',
    about: 'show the worker threads: event method, delay of the event loop, collections, memory, connections',
    call: () => ({ method: 'GET', path: '/v1/workers' }),
    show: (response) => {
      const { process: own, main, workers } = response as View;
      const files = own.descriptors && `, ${valueText(own.descriptors['open'])} of ${valueText(own.descriptors['limit'])} descriptors`;
      const rows = [{ thread: 'main', ...main }, ...workers.map((row) => ({ thread: valueText(row['worker']), ...row }))];
      return [`process ${own.pid}: ${Math.round(own.rss / MIB)} MB${files ?? ''}, ${own.restarts} restarts`, ...TABLE(rows)];
    },
  },
  {
    words: 'profile',
    about: 'store a CPU profile of a worker, for the tools of a browser',
    operands: [{ name: 'FILE', about: 'default: worker-N.cpuprofile', optional: true, isFile: true }],
    options: [
      { name: 'worker', value: 'N', about: 'number of the worker (default: 0)' },
      { name: 'seconds', value: 'N', about: 'how long it is profiled (default: 10)' },
    ],
    notes: ['Needs the scope "profile". The file is readable by its owner alone, and must not exist.'],
    call: (args) => {
      const seconds = numberOf(args, 'seconds', 10);
      const path = `/v1/workers/${numberOf(args, 'worker', 0)}/profile`;
      return { method: 'POST', path, query: { seconds: String(seconds) }, takes: seconds * 1000 };
    },
    file: (args) => args.optional('FILE') ?? `worker-${numberOf(args, 'worker', 0)}.cpuprofile`,
    show: () => [],
  },
  {
    words: 'heap',
    about: 'store a snapshot of the heap of a worker, for the tools of a browser',
    operands: [{ name: 'FILE', about: 'default: worker-N.heapsnapshot', optional: true, isFile: true }],
    options: [
      { name: 'worker', value: 'N', about: 'number of the worker (default: 0)' },
      { name: 'yes', about: 'do not ask' },
    ],
    notes: [
      'The worker serves nothing while it makes the snapshot, about a second for 50 MB. The file has contents of its memory: keys, tokens, requests.',
      'Needs the scope "profile". The file is readable by its owner alone, and must not exist.',
    ],
    confirm: (args) =>
      `Worker ${numberOf(args, 'worker', 0)} serves nothing while it makes the snapshot, and the file has contents of its memory: keys, tokens, requests.`,
    call: (args) => ({ method: 'POST', path: `/v1/workers/${numberOf(args, 'worker', 0)}/heap`, takes: 70_000 }),
    file: (args) => args.optional('FILE') ?? `worker-${numberOf(args, 'worker', 0)}.heapsnapshot`,
    show: () => [],
  },
];

function numberOf(args: Arguments, name: string, usual: number): number {
  const text = args.optional(name) ?? String(usual);
  if (!/^\d{1,4}$/.test(text)) throw usageFailure(`--${name} must be a number`);
  return Number(text);
}
