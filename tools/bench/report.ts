import { describeCores, type CorePlan } from './cores.js';
import type { GoalResult } from './goals.js';
import type { Pace } from './lab.js';
import type { Machine } from './machine.js';
import { faultsOf, figureSpread, goodSamples, ratioSpread, type Result, serversOf } from './results.js';
import type { Column } from './scenario.js';
import type { Spread } from './statistics.js';
import { table } from './table.js';

export interface Run {
  readonly date: Date;
  readonly machine: Machine;
  readonly cores: CorePlan;
  readonly pace: Pace;
  readonly rounds: number;
  readonly quick: boolean;
  /** Name of the server in the place of srv. */
  readonly ours: string;
  readonly missing: readonly string[];
  readonly results: readonly Result[];
  readonly goals: readonly GoalResult[];
}

/** The whole report in Markdown, which reads well as plain text too. */
export function report(run: Run): string {
  return [
    '# Benchmarks',
    ...(run.quick
      ? ['This was a quick run: it shows that the benchmark works. Its figures mean nothing.']
      : ['Written by `npm run bench`; do not edit.']),
    '## Goals',
    goalsTable(goalRows(run.goals)),
    '## Measurements',
    'Each figure is the median of the rounds, with the least and the greatest in parentheses. The ratio to nginx is taken in each round, and its median shown.',
    ...run.results.map((result) => resultSection(result)),
    '## The machine',
    machineList(run),
    '## How it was measured',
    howList(run),
    '## How to repeat it',
    'Install `wrk`, `nghttp2-client`, `nginx` and `haproxy` (Debian packages of these names) and run `npm run bench` on a machine that does nothing else. `npm run bench -- --help` lists the options; `--ours nginx` measures nginx against itself and shows how far equal servers differ.',
    '## What to keep in mind',
    caveatList(run),
  ].join('\n\n');
}

export function goalRows(goals: readonly GoalResult[]): readonly string[][] {
  return goals.map((goal) => [goal.text, goal.wanted, goal.measured ? `${showSpread(goal.measured, 2)} ${goal.unit}` : '–', goal.verdict]);
}

export function goalsTable(rows: readonly (readonly string[])[]): string {
  return table(['goal', 'wanted', 'measured', ''], rows);
}

export function resultSection(result: Result): string {
  const { scenario, skipped } = result;
  const heading = `### ${scenario.title} (\`${scenario.name}\`)\n\n${scenario.how}`;
  if (skipped !== undefined) return `${heading}\n\nNot measured: ${skipped}.`;
  const servers = serversOf(result);
  const faults = servers.flatMap((server) => faultsOf(result, server).map((fault) => `- INVALID: ${server}: ${fault}`));
  const tables = [figuresTable(result, servers), ...servers.flatMap((server) => breakdownTable(result, server))];
  return [heading, ...tables, ...(faults.length > 0 ? [faults.join('\n')] : [])].join('\n\n');
}

function breakdownTable(result: Result, server: string): string[] {
  const { breakdown } = result.scenario;
  if (breakdown === undefined) return [];
  const cell = (row: string, { key, digits }: Column): string => showSpread(figureSpread(result, server, `${row} ${key}`), digits);
  const rows = breakdown.rows.map((row) => [row, ...breakdown.columns.map((column) => cell(row, column))]);
  return [table([breakdown.title, ...breakdown.columns.map(columnHead)], rows)];
}

function figuresTable(result: Result, servers: readonly string[]): string {
  const { columns, compared } = result.scenario;
  const withRatio = compared !== undefined && servers.includes('nginx') && servers.length > 1;
  const head = ['server', ...columns.map(columnHead), ...(withRatio ? ['ratio to nginx'] : [])];
  const rows = servers.map((server) => [
    serverCell(result, server),
    ...columns.map((column) => showSpread(figureSpread(result, server, column.key), column.digits)),
    ...(withRatio ? [server === 'nginx' ? '1' : showSpread(ratioSpread(result, server, 'nginx', compared), 2)] : []),
  ]);
  return table(head, rows);
}

function serverCell(result: Result, server: string): string {
  // Those of an earlier run may have been more.
  const rounds = Math.max(...result.samples.map(({ round }) => round));
  const good = goodSamples(result, server).length;
  return good === rounds ? server : `${server} (INVALID: ${rounds - good} of ${rounds} rounds)`;
}

function columnHead(column: Column): string {
  return column.unit === '' ? column.title : `${column.title} [${column.unit}]`;
}

/** `21.4 (20.9–22.0)`, or one number when all rounds gave the same. */
export function showSpread(figure: Spread | undefined, digits: number): string {
  if (figure === undefined) return '–';
  const [middle, least, greatest] = [figure.median, figure.min, figure.max].map((value) => value.toFixed(digits));
  return least === greatest ? `${middle}` : `${middle} (${least}–${greatest})`;
}

function machineList(run: Run): string {
  const { machine } = run;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`);
  return list([
    `${run.date.toISOString().slice(0, 10)}, ${machine.processor}, ${machine.cores} cores${machine.sharedCores ? ' (some share a physical core)' : ''}, ${machine.memory}, ${machine.kernel}, temporary files on ${machine.fileSystem}`,
    versions.join(', '),
    `load average before the run: ${machine.loadBefore.toFixed(2)}`,
    ...run.missing,
  ]);
}

function howList(run: Run): string {
  return list([
    `Cores: ${describeCores(run.cores)}.`,
    `${roundsOf(run)} rounds; in each, every server is started afresh, warmed up for ${run.pace.warmUpSeconds} s and measured for ${run.pace.seconds} s. Where CPU is compared, all servers run side by side and only one is loaded at a time, for 2 s, then the next: the speed of a machine may change within seconds.`,
    'CPU is the user and system time of all threads and processes of the server, divided by what it did in that time.',
    'All servers have one worker (two where it says so), no access log, HTTP/1.1 keep-alive to the backend with 64 idle connections, and TLS 1.3 where there is TLS. nginx and srv read the same configuration text.',
    'The backend is an nginx of its own; the load comes from wrk, for HTTP/2 from h2load. A round with a response without success, or a socket error, does not count and makes the row invalid.',
  ]);
}

/** A report may have measurements of several runs. */
function roundsOf({ results, rounds }: Run): string {
  const counts = results.flatMap(({ samples }) => (samples.length > 0 ? Math.max(...samples.map(({ round }) => round)) : []));
  const [least, most] = [Math.min(rounds, ...counts), Math.max(rounds, ...counts)];
  return least === most ? String(most) : `${least} to ${most}`;
}

function caveatList(run: Run): string {
  return list([
    'Ratios of the same run carry over to other machines much better than the figures themselves.',
    'Where "core busy" is well below 100 %, load or backend were the limit: requests per second then say nothing about the server, while CPU per request still does.',
    'The kernel’s share of the network on the loopback interface is a large part of every figure, and the same for all.',
    'A server with a garbage collector may keep memory that it does not need; what it takes in the idle measurement is what the system lent it.',
    ...(run.machine.fileSystem === 'tmpfs'
      ? ['Temporary files are in memory here, so the journal of member changes flushes to disk for free.']
      : ['A member that is added is on disk before the response, so these times include the disk’s time for a flush.']),
    ...(run.machine.loadBefore > run.cores.all.length / 4
      ? ['The machine was busy with other work when the run began: do not trust the figures.']
      : []),
  ]);
}

function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}
