import type { TopFigures, TopMember, TopServer, TopUpstream } from './figures.js';

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

/** The worst first. */
export function problemsOf(figures: TopFigures): readonly TopProblem[] {
  const found = [
    ...[...figures.http, ...figures.stream].flatMap(upstreamProblems),
    ...errorProblems(figures.statistics?.servers ?? {}),
    ...figures.nodes
      .filter(({ state }) => state !== 'in_sync')
      .map(({ name, state, lag }) => ({
        isBad: state !== 'behind',
        text: `node ${name} is ${state.replaceAll('_', ' ')}${lag > 0 ? `: ${lag} versions behind` : ''}`,
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

function errorProblems(servers: Readonly<Record<string, TopServer>>): readonly TopProblem[] {
  const sum = (name: string): number => Object.values(servers).reduce((total, row) => total + rateOf(row, name), 0);
  const [errors, requests] = [sum('errors'), sum('requests')];
  if (requests === 0 || errors / requests < ERROR_SHARE) return [];
  const [worst] = Object.entries(servers).toSorted(([, one], [, other]) => rateOf(other, 'errors') - rateOf(one, 'errors'));
  const share = `${Math.round((errors / requests) * 100)} % of the responses are 5xx`;
  return [{ isBad: errors / requests > BAD_ERROR_SHARE, text: `${share}, most at server ${worst?.[0] ?? ''}` }];
}

/** Per second, over the last ten. */
export function rateOf({ rates }: TopServer, name: string): number {
  return rates[name]?.['10s'] ?? 0;
}
