import type { TopFailingRow, TopFigures, TopMember, TopServer, TopStatistics, TopUpstream } from './figures.js';

/** One line of what is wrong now. */
export interface TopProblem {
  /** No request of a kind gets through, or soon none will; else something works less well. */
  readonly isBad: boolean;
  readonly text: string;
}

/** States in which a member gets requests. */
const USABLE = new Set(['up', 'checking']);
const ERROR_SHARE = 0.01;
const BAD_ERROR_SHARE = 0.1;
const EXPIRY_DAYS = 21;
const URGENT_DAYS = 3;

/** Part of a zone that is in use. */
const FULL = 0.95;
/** Members that are named as a source of errors. */
const SOURCES = 2;

/** The worst first; of the others what clients notice. */
export function problemsOf(figures: TopFigures): readonly TopProblem[] {
  const { statistics } = figures;
  const found = [
    ...errorProblems(statistics),
    ...[...figures.http, ...figures.stream].flatMap(upstreamProblems),
    ...slowProblems(statistics),
    ...limitProblems(statistics),
    ...figures.nodes
      .filter(({ state }) => state !== 'in_sync')
      .map(({ name, state, lag = 0, reason }) => ({
        isBad: state !== 'behind',
        text: `node ${name} is ${state.replaceAll('_', ' ')}${nodeReason(reason, lag)}`,
      })),
    ...figures.certificates
      .filter(({ days_left: days }) => days <= EXPIRY_DAYS)
      .map(({ names, subject, days_left: days, expired }) => ({
        isBad: expired || days <= URGENT_DAYS,
        text: `certificate of ${names[0] ?? subject} ${expired ? 'has expired' : `ends in ${days} days`}`,
      })),
  ];
  return found.sort((one, other) => Number(other.isBad) - Number(one.isBad));
}

function nodeReason(reason: string | undefined, lag: number): string {
  if (reason !== undefined) return `: ${reason}`;
  return lag > 0 ? `: it lacks changes of the last ${Math.round(lag)} s` : '';
}

export function isUsable({ state }: TopMember): boolean {
  return USABLE.has(state);
}

function upstreamProblems({ name, peers }: TopUpstream): readonly TopProblem[] {
  const isLost = peers.length > 0 && !peers.some(isUsable);
  const members = peers
    .filter((peer) => !isUsable(peer))
    .map((peer) => ({ isBad: false, text: `${peer.server} of ${name} is ${peer.state}${reasonOf(peer)}${sinceText(peer)}` }));
  return isLost ? [{ isBad: true, text: `upstream ${name} has no usable member` }, ...members] : members;
}

function reasonOf({ state, fails, health_checks: { last_error: error } }: TopMember): string {
  if (state === 'unhealthy') return `: ${error ?? 'health checks have failed'}`;
  if (state === 'unavail') return `: ${fails === 1 ? '1 failed attempt' : `${fails} failed attempts`}`;
  return state === 'resolving' ? ': its name has no address yet' : '';
}

function sinceText({ downstart }: TopMember): string {
  return downstart === undefined ? '' : `, since ${downstart}`;
}

/** A line for each server that fails; before the server knows since when, one for all. */
function errorProblems(statistics: TopStatistics | undefined): readonly TopProblem[] {
  const failing = statistics?.failing ?? [];
  const servers = failing.filter(({ section, errors }) => section === 'servers' && errors > 0);
  if (servers.length > 0) {
    return servers.map(({ name, requests, errors, codes, since }) => ({
      isBad: errors > requests * BAD_ERROR_SHARE,
      text: `${percent(errors, requests)} of the responses of ${name} are 5xx (${codesText(codes)}${sourcesText(failing)}), since ${moment(since)}`,
    }));
  }
  const rows = Object.entries(statistics?.servers ?? {});
  const sum = (name: string): number => rows.reduce((total, [, row]) => total + rateOf(row, name), 0);
  const [errors, requests] = [sum('errors'), sum('requests')];
  if (requests === 0 || errors / requests < ERROR_SHARE) return [];
  const [worst] = rows.toSorted(([, one], [, other]) => rateOf(other, 'errors') - rateOf(one, 'errors'));
  const text = `${percent(errors, requests)} of the responses are 5xx, most at server ${worst?.[0] ?? ''}`;
  return [{ isBad: errors / requests > BAD_ERROR_SHARE, text }];
}

function sourcesText(failing: readonly TopFailingRow[]): string {
  const members = failing.filter(({ part, errors }) => part !== undefined && errors > 0);
  if (members.length === 0) return '';
  const named = members.slice(0, SOURCES).map(({ part, name }) => `${part} of ${name}`);
  const rest = members.length - SOURCES;
  return `, from ${named.join(' and ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function codesText(codes: Readonly<Record<string, number>>): string {
  return Object.entries(codes)
    .toSorted(([, one], [, other]) => other - one)
    .map(([code, number]) => `${code} x ${number}`)
    .join(', ');
}

function slowProblems(statistics: TopStatistics | undefined): readonly TopProblem[] {
  return (statistics?.slow ?? []).map(({ upstream, server, time, reference, than, since }) => ({
    isBad: false,
    text: `${server} of ${upstream} is slow: first byte after ${Math.round(time)} ms, ${than === 'others' ? 'the others need' : 'usually'} ${Math.round(reference)} ms, since ${moment(since)}`,
  }));
}

function limitProblems(statistics: TopStatistics | undefined): readonly TopProblem[] {
  return Object.entries(statistics?.limits ?? {})
    .filter(([, { entries = 0, capacity = 0 }]) => capacity > 0 && entries >= capacity * FULL)
    .map(([zone, { entries = 0, evicted = 0 }]) => ({
      isBad: false,
      text: `limit zone ${zone} is full: ${entries} keys, ${evicted} dropped for new ones`,
    }));
}

function percent(part: number, whole: number): string {
  return `${Math.round((part / whole) * 100)} %`;
}

/** As members have it: ISO 8601. */
function moment(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Per second, over the last ten. */
export function rateOf({ rates }: TopServer, name: string): number {
  return rates[name]?.['10s'] ?? 0;
}
