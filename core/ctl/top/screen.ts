/** One screen of `srvctl top`: what is wrong first, then the figures. */
import { printable, table, type Row } from '../table.js';
import type { TopFigures, TopServer, TopUpstream } from './figures.js';
import { isUsable, problemsOf, rateOf } from './problems.js';

export const SORTS = ['requests', 'errors', 'p99', 'name'] as const;
export type TopSort = (typeof SORTS)[number];

export interface ScreenShape {
  readonly columns: number;
  readonly rows: number;
  readonly sort: TopSort;
  readonly color: boolean;
  /** Why the figures are old. */
  readonly problem?: string;
  /** Shows which keys there are. */
  readonly keys?: boolean;
}

type LineStyle = 'bad' | 'warn' | 'good' | 'title' | 'plain';
type Line = readonly [style: LineStyle, text: string];

const COLORS: Readonly<Record<LineStyle, string>> = { bad: '\x1b[31m', warn: '\x1b[33m', good: '\x1b[32m', title: '\x1b[1m', plain: '' };
const END = '\x1b[0m';
/** Lines of problems, and of upstreams, on a screen of limited height. */
const LISTED = 10;
/** Characters of the name of a server or an upstream. */
const LONGEST_NAME = 40;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

const UPSTREAM_TABLE = table([
  { title: 'UPSTREAM', field: 'name' },
  { title: 'USABLE', field: 'usable' },
  { title: 'ACTIVE', field: 'active' },
  { title: 'REQUESTS', field: 'requests' },
  { title: 'SLOWEST', field: 'slowest' },
]);
const SERVER_TABLE = table([
  { title: 'SERVER', field: 'name' },
  { title: 'REQUESTS/S', field: 'requests' },
  { title: '5XX/S', field: 'errors' },
  { title: 'SENT/S', field: 'sent' },
  { title: 'P50', field: 'p50' },
  { title: 'P90', field: 'p90' },
  { title: 'P99', field: 'p99' },
]);

export function isSort(text: string): text is TopSort {
  return SORTS.some((name) => name === text);
}

/** At most `rows` lines, each with at most `columns` characters. */
export function screenLines(
  figures: TopFigures,
  { columns, rows, sort, color, problem = '', keys = false }: ScreenShape,
): readonly string[] {
  const listed = Number.isFinite(rows) ? LISTED : Infinity;
  const lines: readonly Line[] = [
    ...headLines(figures, problem, keys),
    ...problemLines(figures, listed),
    ...changeLines(figures),
    ['plain', ''],
    ...upstreamLines(figures, listed),
    ['plain', ''],
    ...serverLines(figures, sort),
  ];
  return lines.slice(0, rows).map(([style, text]) => {
    const shown = printable(text).slice(0, columns);
    return color && COLORS[style] !== '' ? COLORS[style] + shown + END : shown;
  });
}

function headLines({ session, statistics, missing }: TopFigures, problem: string, keys: boolean): readonly Line[] {
  const who = session === undefined ? 'srv' : `${session.node}  srv ${session.srv}`;
  const lines: Line[] = [['title', `${who}${keys ? '   q quit   sort: r requests, e errors, p p99, n name' : ''}`]];
  if (problem !== '') lines.push(['bad', `old figures: ${problem}`]);
  if (statistics === undefined) return [...lines, ['warn', `no statistics: ${missing[0] ?? 'srv_http_vts_module is not loaded'}`]];
  const { connections, servers = {} } = statistics;
  const rows = Object.values(servers);
  const sum = (name: string): number => rows.reduce((total, row) => total + rateOf(row, name), 0);
  const highest = (name: 'p50' | 'p90' | 'p99'): string => time(Math.max(0, ...rows.map(({ times }) => times[name])));
  const [requests, errors] = [sum('requests'), sum('errors')];
  lines.push([
    'plain',
    [
      `requests ${number(requests)}/s`,
      `5xx ${number(errors)}/s`,
      `received ${size(sum('received'))}/s`,
      `sent ${size(sum('sent'))}/s`,
      `connections ${connections['active'] ?? 0}`,
    ].join('   '),
  ]);
  lines.push(['plain', `highest p50 ${highest('p50')}   p90 ${highest('p90')}   p99 ${highest('p99')}`], ['plain', '']);
  return lines;
}

function problemLines(figures: TopFigures, listed: number): readonly Line[] {
  const problems = problemsOf(figures);
  if (problems.length === 0) return [['good', 'NOTHING IS WRONG']];
  const rest = problems.length - listed;
  return [
    ['title', problems.length === 1 ? '1 PROBLEM' : `${problems.length} PROBLEMS`],
    ...problems.slice(0, listed).map(({ isBad, text }): Line => [isBad ? 'bad' : 'warn', `${isBad ? 'x' : '!'} ${text}`]),
    ...(rest > 0 ? [['plain', `  and ${rest} more`] as const] : []),
  ];
}

function changeLines({ changes }: TopFigures): readonly Line[] {
  if (changes.length === 0) return [];
  return [
    ['plain', ''],
    ['title', 'CHANGED LAST'],
    ...changes.map(({ at, actor = 'reload', message = '', changes: parts, diff }): Line => {
      const about = message === '' ? (parts?.[0]?.place ?? diff?.[0] ?? 'no directive') : message;
      return ['plain', `${at}  ${actor}  ${about.trim()}`];
    }),
  ];
}

/** Upstreams with the fewest usable members first. */
function upstreamLines({ http, stream }: TopFigures, listed: number): readonly Line[] {
  const all = [...http.map((one) => upstreamRow(one, '')), ...stream.map((one) => upstreamRow(one, ' (stream)'))];
  if (all.length === 0) return [['plain', 'no upstream with a zone']];
  const sorted = all.toSorted((one, other) => one.share - other.share || (one.name < other.name ? -1 : 1));
  const [head = '', ...lines] = UPSTREAM_TABLE(sorted.slice(0, listed));
  const rest = all.length - listed;
  return [
    ['title', head],
    ...lines.map((line, index): Line => [sorted[index]?.style ?? 'plain', line]),
    ...(rest > 0 ? [['plain', `and ${rest} more`] as const] : []),
  ];
}

function upstreamRow({ name, peers }: TopUpstream, kind: string): Row & { name: string; share: number; style: LineStyle } {
  const usable = peers.filter(isUsable).length;
  const sum = (of: (peer: TopUpstream['peers'][number]) => number): number => peers.reduce((total, peer) => total + of(peer), 0);
  return {
    name: cut(name) + kind,
    usable: `${usable} of ${peers.length}`,
    active: sum(({ active }) => active),
    requests: sum(({ requests, connections }) => requests ?? connections ?? 0),
    slowest: time(Math.max(0, ...peers.map(({ response_time: ms }) => ms))),
    share: peers.length === 0 ? 0 : usable / peers.length,
    style: usable === peers.length ? 'plain' : usable === 0 ? 'bad' : 'warn',
  };
}

function serverLines({ statistics }: TopFigures, sort: TopSort): readonly Line[] {
  const rows = Object.entries(statistics?.servers ?? {});
  if (rows.length === 0) return [['plain', 'no server is counted: vhost_traffic_status_zone counts them']];
  const key = ([, row]: readonly [string, TopServer]): number => (sort === 'p99' ? row.times.p99 : rateOf(row, sort));
  const sorted = rows.toSorted((one, other) => (sort === 'name' ? 0 : key(other) - key(one)) || (one[0] < other[0] ? -1 : 1));
  const shown = sorted.map(([name, row]) => ({
    name: cut(name),
    requests: number(rateOf(row, 'requests')),
    errors: number(rateOf(row, 'errors')),
    sent: size(rateOf(row, 'sent')),
    p50: time(row.times.p50),
    p90: time(row.times.p90),
    p99: time(row.times.p99),
  }));
  const [head = '', ...lines] = SERVER_TABLE(shown);
  const styleOf = (index: number): LineStyle => (rateOf(sorted[index]![1], 'errors') > 0 ? 'warn' : 'plain');
  return [['title', head], ...lines.map((line, index): Line => [styleOf(index), line])];
}

/** So that the figures beside it stay on the screen. */
function cut(name: string): string {
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

function number(value: number): string {
  return value >= 100 || value === 0 ? value.toFixed(0) : value.toFixed(1);
}

function time(ms: number): string {
  if (ms === 0) return '-';
  return ms >= 1000 ? `${number(ms / 1000)}s` : `${number(ms)}ms`;
}

function size(bytes: number): string {
  const unit = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)));
  return `${number(bytes / 1000 ** unit)}${UNITS[unit]}`;
}
