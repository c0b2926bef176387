import type { MainView } from './main-view.js';
import type { ShownRow } from './pages.js';
import type { TimesView } from './views.js';

/** Settings of a member, as nginx-module-vts shows them beside its figures. */
export interface FormatMember {
  readonly server: string;
  readonly weight: number;
  readonly maxFails: number;
  /** Seconds. */
  readonly failTimeout: number;
  readonly backup: boolean;
  readonly down: boolean;
}

/** Of a cache, as the API of NGINX Plus has it: bytes. */
export interface FormatCache {
  readonly size: number;
  /** Absent: no limit. */
  readonly max_size?: number;
}

/** Names of the server itself. */
export interface FormatHead {
  readonly hostName: string;
  readonly version: string;
}

type Numbers = Readonly<Record<string, number>>;
type Json = Record<string, unknown>;

const CLASS_NAMES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;
const CACHE_NAMES = ['miss', 'bypass', 'expired', 'stale', 'updating', 'revalidated', 'hit', 'scarce'] as const;

/** Figures of a row that the form has. */
interface FormatView {
  readonly requests?: number;
  readonly attempts?: number;
  readonly received: number;
  readonly sent: number;
  readonly responses: Numbers;
  readonly cache?: Numbers;
  readonly times: TimesView;
}

/** The JSON of nginx-module-vts (`/status/format/json`), with the names of its fields. */
export class FormatJson {
  readonly #servers: Record<string, Json> = {};
  readonly #filters: Record<string, Record<string, Json>> = {};
  readonly #upstreams: Record<string, Json[]> = {};
  readonly #total: FormatView[] = [];

  /** @param settings those of the members of an upstream; of a proxy_pass without an upstream there are none */
  add({ section, name, part, view }: ShownRow, settings: ReadonlyMap<string, FormatMember> | undefined): void {
    const figures = view as unknown as FormatView;
    if (section === 'servers') {
      this.#servers[name] = requestFields(figures);
      this.#total.push(figures);
    } else if (section === 'filters' && part !== undefined) (this.#filters[name] ??= {})[part] = requestFields(figures);
    else if (section === 'upstreams' && part !== undefined)
      (this.#upstreams[settings === undefined ? '::nogroups' : name] ??= []).push(memberFields(part, figures, settings?.get(part)));
  }

  /** @param sizes of caches, by their name @param nodes rows */
  body(main: MainView, { hostName, version }: FormatHead, sizes: Readonly<Record<string, FormatCache>>, nodes: number): Json {
    const { loaded, now, connections, caches, groups } = main;
    const { size = 0, used = 0 } = groups;
    return {
      hostName,
      moduleVersion: `srv-${version}`,
      nginxVersion: version,
      loadMsec: loaded,
      nowMsec: now,
      connections,
      sharedZones: { name: 'vhost_traffic_status', maxSize: size, usedSize: used, usedNode: nodes, freeSize: size - used },
      serverZones: { ...this.#servers, '*': requestFields(sumOf(this.#total)) },
      ...(Object.keys(this.#filters).length > 0 && { filterZones: this.#filters }),
      ...(Object.keys(this.#upstreams).length > 0 && { upstreamZones: this.#upstreams }),
      ...(Object.keys(caches).length > 0 && {
        cacheZones: Object.fromEntries(Object.entries(caches).map(([zone, statuses]) => [zone, cacheFields(statuses, sizes[zone])])),
      }),
    };
  }
}

function requestFields({ requests, received, sent, responses, cache = {}, times }: FormatView): Json {
  return {
    requestCounter: requests ?? 0,
    inBytes: received,
    outBytes: sent,
    responses: { ...picked(responses, CLASS_NAMES), ...picked(cache, CACHE_NAMES) },
    ...timeFields('request', times),
    overCounts: overCounts(['requestCounter', 'inBytes', 'outBytes', ...CLASS_NAMES, ...CACHE_NAMES, 'requestMsecCounter']),
  };
}

function memberFields(server: string, figures: FormatView, settings: FormatMember | undefined): Json {
  return {
    server,
    requestCounter: figures.attempts ?? 0,
    inBytes: figures.received,
    outBytes: figures.sent,
    responses: picked(figures.responses, CLASS_NAMES),
    ...timeFields('request', figures.times),
    ...timeFields('response', figures.times),
    weight: settings?.weight ?? 1,
    maxFails: settings?.maxFails ?? 1,
    failTimeout: settings?.failTimeout ?? 10,
    backup: settings?.backup ?? false,
    down: settings?.down ?? false,
    overCounts: overCounts(['requestCounter', 'inBytes', 'outBytes', ...CLASS_NAMES, 'requestMsecCounter', 'responseMsecCounter']),
  };
}

function cacheFields(statuses: Numbers, { size = 0, max_size: most = 0 }: Partial<FormatCache> = {}): Json {
  const { received = 0, sent = 0 } = statuses;
  return {
    maxSize: most,
    usedSize: size,
    inBytes: received,
    outBytes: sent,
    responses: picked(statuses, CACHE_NAMES),
    overCounts: overCounts(['inBytes', 'outBytes', ...CACHE_NAMES]),
  };
}

/** How often each counter has begun again: none does, up to the greatest whole number of JSON. */
function overCounts(names: readonly string[]): Json {
  return { maxIntegerSize: Number.MAX_SAFE_INTEGER, ...picked({}, names) };
}

/** Averages are over all requests, and not over the last 64: there are no samples, and no buckets, of single requests. */
function timeFields(prefix: 'request' | 'response', { sum, mean }: Pick<TimesView, 'sum' | 'mean'>): Json {
  return {
    [`${prefix}MsecCounter`]: sum,
    [`${prefix}Msec`]: Math.round(mean),
    [`${prefix}Msecs`]: { times: [], msecs: [] },
    [`${prefix}Buckets`]: { msecs: [], counters: [] },
  };
}

function sumOf(all: readonly FormatView[]): FormatView {
  const add = (of: (view: FormatView) => number): number => all.reduce((sum, view) => sum + of(view), 0);
  const sums = (names: readonly string[], of: (view: FormatView) => Numbers): Numbers =>
    Object.fromEntries(names.map((name) => [name, add((view) => of(view)[name] ?? 0)]));
  const [count, sum] = [add(({ times }) => times.count), add(({ times }) => times.sum)];
  return {
    requests: add(({ requests }) => requests ?? 0),
    received: add(({ received }) => received),
    sent: add(({ sent }) => sent),
    responses: sums(CLASS_NAMES, ({ responses }) => responses),
    cache: sums(CACHE_NAMES, ({ cache }) => cache ?? {}),
    times: { count, sum, mean: count === 0 ? 0 : sum / count, p50: 0, p90: 0, p99: 0, p999: 0 },
  };
}

const picked = (numbers: Numbers, names: readonly string[]): Numbers => Object.fromEntries(names.map((name) => [name, numbers[name] ?? 0]));
