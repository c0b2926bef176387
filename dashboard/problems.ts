/** What is wrong now, by the state of the server: the first thing that the page shows. */
import { duration, percent, rate } from './format.js';
import type { Live } from './live.js';
import { recent } from './samples.js';
import type { Peer, Upstream } from './types.js';

export type Level = 'bad' | 'warn' | 'note';

export interface Problem {
  /** The same while it lasts. */
  readonly id: string;
  readonly level: Level;
  readonly what: string;
  readonly why: string;
  /** Epoch milliseconds; undefined: not known. */
  readonly since: number | undefined;
  /** Page with more about it. */
  readonly link: string;
}

const ORDER: readonly Level[] = ['bad', 'warn', 'note'];
/** States in which a member gets requests. */
const USABLE = new Set(['up', 'checking']);
/** Somebody wants it so. */
const PLANNED = new Set(['down', 'draining']);
const ERROR_SHARE = 0.01;
const EXPIRY_DAYS = 21;
const URGENT_DAYS = 3;
/** Slower than the others by this factor, and by this many milliseconds. */
const SLOW_FACTOR = 3;
const SLOW_MS = 50;
const RECENT_MS = 15 * 60_000;
/** Members of one upstream that are listed one by one. */
const LISTED = 5;

export function memberWhy(live: Live, { engine, name }: Upstream, peer: Peer): string {
  const event = live.reasonOf(engine, name, peer.server);
  if (peer.state === 'unhealthy') return peer.health_checks.last_error ?? event?.reason ?? 'health checks have failed';
  if (peer.state === 'unavail')
    return event?.reason ?? `${peer.fails === 1 ? '1 failed attempt' : `${peer.fails} failed attempts`}: max_fails reached`;
  if (peer.state === 'down') return 'set to down';
  if (peer.state === 'draining') return `drain: ${peer.active} requests left`;
  if (peer.state === 'resolving') return 'its name has no address yet';
  if (peer.state === 'checking') return 'waits for its first health check';
  return '';
}

export function memberSince(live: Live, { engine, name }: Upstream, peer: Peer): number | undefined {
  const time = peer.downstart ?? live.reasonOf(engine, name, peer.server)?.time;
  return time === undefined ? undefined : Date.parse(time);
}

export function isUsable({ state }: Peer): boolean {
  return USABLE.has(state);
}

/** Members that need far more time than the others of their upstream. */
export function slowPeers({ peers }: Upstream): ReadonlySet<number> {
  const times = peers.filter(isUsable).flatMap(({ response_time: time }) => (time > 0 ? [time] : []));
  if (times.length < 2) return new Set();
  const sorted = times.sort((one, other) => one - other);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  const limit = Math.max(middle * SLOW_FACTOR, middle + SLOW_MS);
  return new Set(peers.flatMap((peer) => (isUsable(peer) && peer.response_time > limit ? [peer.id] : [])));
}

export function problemsOf(live: Live): readonly Problem[] {
  const found = [
    ...upstreamProblems(live),
    ...errorProblems(live),
    ...certificateProblems(live),
    ...nodeProblems(live),
    ...processProblems(live),
  ];
  return found.sort((one, other) => ORDER.indexOf(one.level) - ORDER.indexOf(other.level) || (other.since ?? 0) - (one.since ?? 0));
}

function upstreamProblems(live: Live): readonly Problem[] {
  return (live.upstreams.current ?? []).flatMap((upstream) => {
    const { engine, name, peers } = upstream;
    const link = `#/upstreams/${engine}/${encodeURIComponent(name)}`;
    const away = peers.filter((peer) => !isUsable(peer));
    const broken = away.filter(({ state }) => !PLANNED.has(state));
    const times = away.flatMap((peer) => memberSince(live, upstream, peer) ?? []);
    if (peers.length > 0 && away.length === peers.length) {
      const why = away.map((peer) => `${peer.server} ${peer.state}`).slice(0, LISTED);
      const rest = away.length > LISTED ? ` and ${away.length - LISTED} more` : '';
      return {
        id: `${engine} ${name}`,
        level: 'bad' as const,
        what: `Upstream ${name} has no usable member`,
        why: why.join(', ') + rest,
        since: times.length > 0 ? Math.max(...times) : undefined,
        link,
      };
    }
    const [first] = broken;
    const failing: Problem[] =
      broken.length > LISTED && first !== undefined
        ? [
            {
              id: `${engine} ${name}`,
              level: 'warn',
              what: `${broken.length} of ${peers.length} members of ${name} are not usable`,
              why: memberWhy(live, upstream, first),
              since: times.length > 0 ? Math.min(...times) : undefined,
              link,
            },
          ]
        : broken.map((peer) => ({
            id: `${engine} ${name} ${peer.id}`,
            level: 'warn',
            what: `${peer.server} of ${name} is ${peer.state}`,
            why: memberWhy(live, upstream, peer),
            since: memberSince(live, upstream, peer),
            link,
          }));
    const slow = slowPeers(upstream);
    const slowly = peers
      .filter(({ id }) => slow.has(id))
      .slice(0, LISTED)
      .map((peer): Problem => ({
        id: `${engine} ${name} ${peer.id} slow`,
        level: 'warn',
        what: `${peer.server} of ${name} is slow`,
        why: `${peer.response_time} ms, more than ${SLOW_FACTOR} times the others`,
        since: undefined,
        link,
      }));
    return [...failing, ...slowly];
  });
}

function errorProblems({ series, statistics }: Live): readonly Problem[] {
  const { samples } = series.current;
  const [errors = 0, requests = 0] = [recent(samples, 'errors'), recent(samples, 'requests')];
  if (requests === 0 || errors / requests < ERROR_SHARE) return [];
  const worst = Object.entries(statistics.current?.servers ?? {}).reduce<readonly [string, number]>(
    (most, [name, row]) => (row.rates.errors['10s'] > most[1] ? [name, row.rates.errors['10s']] : most),
    ['', 0],
  );
  const why = worst[0] === '' ? '' : `most at server ${worst[0]}`;
  const share = errors / requests;
  return [
    {
      id: 'errors',
      level: share > 0.1 ? 'bad' : 'warn',
      what: `${percent(errors, requests)} of the responses are 5xx (${rate(errors)} a second)`,
      why,
      since: undefined,
      link: '#/servers',
    },
  ];
}

function certificateProblems({ certificates }: Live): readonly Problem[] {
  return (certificates.current ?? [])
    .filter(({ days_left: days }) => days <= EXPIRY_DAYS)
    .map(({ names, subject, expired, days_left: days, not_after: end, fingerprint }) => ({
      id: `certificate ${fingerprint}`,
      level: expired || days <= URGENT_DAYS ? 'bad' : 'warn',
      what: `Certificate of ${names[0] ?? subject} ${expired ? 'has expired' : `ends in ${days} days`}`,
      why: `not_after ${end}`,
      since: expired ? Date.parse(end) : undefined,
      link: '#/certificates',
    }));
}

function nodeProblems({ cluster }: Live): readonly Problem[] {
  return (cluster.current?.nodes ?? [])
    .filter(({ state }) => state !== 'in_sync')
    .map(({ name, state, lag, since }) => ({
      id: `node ${name}`,
      level: state === 'behind' ? 'note' : 'bad',
      what: `Node ${name} is ${state === 'away' ? 'away' : state}`,
      why: lag > 0 ? `${lag} versions behind` : '',
      since: since === undefined ? undefined : Date.parse(since),
      link: '#/nodes',
    }));
}

function processProblems({ events, now }: Live): readonly Problem[] {
  return events.current
    .filter(({ type, time }) => (type === 'worker.failed' || type === 'helper.failed') && now.current - Date.parse(time) < RECENT_MS)
    .map(({ type, time, data, id }) => ({
      id: `process ${id ?? time}`,
      level: 'warn',
      what:
        type === 'worker.failed' ? `Worker ${String(data['worker'])} failed and was replaced` : `Helper ${String(data['helper'])} failed`,
      why: typeof data['reason'] === 'string' ? data['reason'] : '',
      since: Date.parse(time),
      link: '#/nodes',
    }));
}

/** First seen by this page, where the server does not know since when. */
export class Sightings {
  readonly #first = new Map<string, number>();

  /** The problems, with the time since they have been seen. */
  see(problems: readonly Problem[], now: number): readonly (Problem & { readonly seen: number })[] {
    const ids = new Set(problems.map(({ id }) => id));
    for (const id of this.#first.keys()) if (!ids.has(id)) this.#first.delete(id);
    return problems.map((problem) => {
      const seen = problem.since ?? this.#first.get(problem.id) ?? now;
      if (!this.#first.has(problem.id)) this.#first.set(problem.id, seen);
      return { ...problem, seen };
    });
  }
}

export function sinceText({ since, seen }: { readonly since: number | undefined; readonly seen: number }, now: number): string {
  return since === undefined ? `for at least ${duration(now - seen)}` : `for ${duration(now - since)}`;
}
