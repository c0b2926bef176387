/** What is wrong now, by the state of the server: the first thing that the page shows. */
import { codesText, count, date, duration, percent } from './format.js';
import { live, type Live } from './live.js';
import { isPlanned, isUsable, memberSince, memberWhy, SlowMembers, slowText } from './members.js';
import { recent } from './samples.js';
import type { FailingRow, LimitFigures, Upstream } from './types.js';
import { Value } from './value.js';

export type Level = 'bad' | 'warn' | 'note';

export interface Problem {
  /** The same while it lasts. */
  readonly id: string;
  readonly level: Level;
  readonly what: string;
  readonly why: string;
  /** Epoch milliseconds; undefined: not known. */
  readonly since: number | undefined;
  /** In the place of the time since when. */
  readonly when?: string;
  /** Page with more about it. */
  readonly link: string;
}

/** With the time since which this page has seen it. */
export type SeenProblem = Problem & { readonly seen: number };

const ORDER: readonly Level[] = ['bad', 'warn', 'note'];
const ERROR_SHARE = 0.01;
const BAD_ERROR_SHARE = 0.1;
export const EXPIRY_DAYS = 21;
export const URGENT_DAYS = 3;
/** Part of a zone that is in use. */
export const FULL = 0.95;
const RECENT_MS = 15 * 60_000;
/** Members of one upstream that are listed one by one, and sources of errors in a line. */
const LISTED = 5;
const SOURCES = 2;

/** The worst first; of one level what clients notice. */
export function problemsOf(from: Live): readonly Problem[] {
  const found = [
    ...errorProblems(from),
    ...upstreamProblems(from),
    ...limitProblems(from),
    ...nodeProblems(from),
    ...processProblems(from),
    ...certificateProblems(from),
  ];
  return found.sort((one, other) => ORDER.indexOf(one.level) - ORDER.indexOf(other.level));
}

function upstreamProblems(from: Live): readonly Problem[] {
  const slow = new SlowMembers(from.statistics.current);
  return (from.upstreams.current ?? []).flatMap((upstream) => [...lostMembers(from, upstream), ...slowMembers(upstream, slow)]);
}

const linkTo = ({ engine, name }: Upstream): string => `#/upstreams/${engine}/${encodeURIComponent(name)}`;

function lostMembers(from: Live, upstream: Upstream): readonly Problem[] {
  const { engine, name, peers } = upstream;
  const away = peers.filter((peer) => !isUsable(peer));
  if (away.length === 0) return [];
  const link = linkTo(upstream);
  const times = away.flatMap((peer) => memberSince(from, upstream, peer) ?? []);
  if (away.length === peers.length) {
    const why = away.slice(0, LISTED).map((peer) => `${peer.server} ${peer.state}`);
    const rest = away.length > LISTED ? ` and ${away.length - LISTED} more` : '';
    return [
      {
        id: `${engine} ${name}`,
        level: 'bad',
        what: `Upstream ${name} has no usable member`,
        why: why.join(', ') + rest,
        since: times.length > 0 ? Math.max(...times) : undefined,
        link,
      },
    ];
  }
  const broken = away.filter((peer) => !isPlanned(peer));
  const [first] = broken;
  if (broken.length > LISTED && first !== undefined) {
    return [
      {
        id: `${engine} ${name}`,
        level: 'warn',
        what: `${broken.length} of ${peers.length} members of ${name} are not usable`,
        why: memberWhy(from, upstream, first),
        since: times.length > 0 ? Math.min(...times) : undefined,
        link,
      },
    ];
  }
  return broken.map((peer) => ({
    id: `${engine} ${name} ${peer.id}`,
    level: 'warn',
    what: `${peer.server} of ${name} is ${peer.state === 'unavail' ? 'unavailable' : peer.state}`,
    why: memberWhy(from, upstream, peer),
    since: memberSince(from, upstream, peer),
    link,
  }));
}

function slowMembers(upstream: Upstream, slow: SlowMembers): readonly Problem[] {
  const { engine, name, peers } = upstream;
  const found = slow.of(upstream);
  if (found.size === 0) return [];
  return peers
    .flatMap((peer) => {
      const slowness = found.get(peer.id);
      return slowness === undefined ? [] : [{ peer, slowness }];
    })
    .slice(0, LISTED)
    .map(({ peer: { id, server }, slowness }) => ({
      id: `${engine} ${name} ${id} slow`,
      level: 'warn',
      what: `${server} of ${name} is slow`,
      why: slowText(slowness),
      since: slowness.since,
      link: '#/slow',
    }));
}

/** A line for each server that fails; before the server knows since when, one for all. */
function errorProblems({ series, statistics }: Live): readonly Problem[] {
  const failing = statistics.current?.failing ?? [];
  const servers = failing.filter(({ section }) => section === 'servers');
  if (servers.length > 0) {
    return servers.slice(0, LISTED).map(({ name, since, requests, errors, codes }) => ({
      id: `errors ${name}`,
      level: errors > requests * BAD_ERROR_SHARE ? 'bad' : 'warn',
      what: errors === 0 ? `${name} had responses with 5xx` : `${percent(errors, requests)} of the responses of ${name} are 5xx`,
      why: [codesText(codes), sourcesText(failing)].filter((text) => text !== '').join(', '),
      since,
      link: '#/errors',
    }));
  }
  const { samples } = series.current;
  const [errors = 0, requests = 0] = [recent(samples, 'errors'), recent(samples, 'requests')];
  if (requests === 0 || errors / requests < ERROR_SHARE) return [];
  return [
    {
      id: 'errors',
      level: errors > requests * BAD_ERROR_SHARE ? 'bad' : 'warn',
      what: `${percent(errors, requests)} of the responses are 5xx`,
      why: '',
      since: undefined,
      link: '#/errors',
    },
  ];
}

/** Members that fail, else locations. */
function sourcesText(failing: readonly FailingRow[]): string {
  const members = failing.filter(({ part, errors }) => part !== undefined && errors > 0);
  const sources =
    members.length > 0
      ? members.map(({ part, name }) => `${part} of ${name}`)
      : failing.filter(({ section }) => section === 'locations').map(({ name }) => `location ${name}`);
  if (sources.length === 0) return '';
  const rest = sources.length - SOURCES;
  return `from ${sources.slice(0, SOURCES).join(' and ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

export function fillOf({ entries, capacity }: LimitFigures): number | undefined {
  return entries === undefined || capacity === undefined || capacity === 0 ? undefined : Math.min(1, entries / capacity);
}

function limitProblems({ statistics }: Live): readonly Problem[] {
  return Object.entries(statistics.current?.limits ?? {})
    .filter(([, figures]) => (fillOf(figures) ?? 0) >= FULL)
    .map(([zone, { entries, evicted = 0 }]) => ({
      id: `limit ${zone}`,
      level: 'warn',
      what: `Limit zone ${zone} is full`,
      why:
        evicted > 0 ? `${count(evicted)} keys dropped for new ones: make the zone larger` : `${count(entries)} keys: make the zone larger`,
      since: undefined,
      link: '#/limits',
    }));
}

function certificateProblems({ certificates }: Live): readonly Problem[] {
  return (certificates.current ?? [])
    .filter(({ days_left: days }) => days <= EXPIRY_DAYS)
    .map(({ names, subject, expired, days_left: days, not_after: end, fingerprint, issuer }) => ({
      id: `certificate ${fingerprint}`,
      level: expired || days <= URGENT_DAYS ? 'bad' : 'warn',
      what: `Certificate of ${names[0] ?? subject} ${expired ? 'has expired' : `ends in ${days === 1 ? '1 day' : `${days} days`}`}`,
      why: `issued by ${issuer}`,
      since: undefined,
      when: date(end),
      link: '#/certificates',
    }));
}

function nodeProblems({ cluster }: Live): readonly Problem[] {
  return (cluster.current?.nodes ?? [])
    .filter(({ state }) => state !== 'in_sync')
    .map(({ name, state, lag = 0, since, reason }) => ({
      id: `node ${name}`,
      level: state === 'behind' ? 'note' : 'bad',
      what: `Node ${name} is ${state.replaceAll('_', ' ')}`,
      why: reason ?? (lag > 0 ? `it lacks changes of the last ${duration(lag * 1000)}` : ''),
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
      when: `${duration(now.current - Date.parse(time))} ago`,
      link: '#/nodes',
    }));
}

/** Looks each second what is wrong, and remembers since when this page has seen it. */
export class ProblemList {
  readonly all = new Value<readonly SeenProblem[]>([]);
  readonly #first = new Map<string, number>();

  constructor(private readonly from: Live) {
    from.now.onChange(() => this.#look());
  }

  /** Of a page. */
  at(place: string): readonly SeenProblem[] {
    return this.all.current.filter(({ link }) => link === `#/${place}` || link.startsWith(`#/${place}/`));
  }

  #look(): void {
    const now = this.from.now.current;
    const problems = problemsOf(this.from);
    const ids = new Set(problems.map(({ id }) => id));
    for (const id of this.#first.keys()) if (!ids.has(id)) this.#first.delete(id);
    for (const { id } of problems) if (!this.#first.has(id)) this.#first.set(id, now);
    this.all.set(problems.map((problem) => ({ ...problem, seen: this.#first.get(problem.id) ?? now })));
  }
}

export const problemList = new ProblemList(live);

export function sinceText({ since, seen, when }: SeenProblem, now: number): string {
  if (when !== undefined) return when;
  return since === undefined ? `for at least ${duration(now - seen)}` : `for ${duration(now - since)}`;
}
