import type { ApiClient } from '../api-client.js';
import { CommandFailure, EXIT, responseFailure } from '../failure.js';
import { wholeBody } from '../whole-body.js';

/** Responses of the API, as far as a screen shows them. */
export interface TopMember {
  readonly server: string;
  readonly state: string;
  readonly weight: number;
  readonly active: number;
  readonly requests?: number;
  readonly connections?: number;
  readonly fails: number;
  readonly response_time: number;
  readonly downstart?: string;
  readonly health_checks: { readonly last_error?: string };
}

export interface TopUpstream {
  readonly name: string;
  readonly peers: readonly TopMember[];
}

type Rates = Readonly<Record<string, number>>;

export interface TopServer {
  readonly requests?: number;
  readonly sessions?: number;
  readonly times: Readonly<Record<'count' | 'p50' | 'p90' | 'p99', number>>;
  readonly rates: Readonly<Record<string, Rates | undefined>>;
}

/** Times are milliseconds, moments are epoch milliseconds. */
export interface TopSlowMember {
  readonly upstream: string;
  readonly server: string;
  readonly since: number;
  readonly time: number;
  readonly reference: number;
  readonly than: 'others' | 'usual';
}

/** Figures are per second. */
export interface TopFailingRow {
  readonly section: string;
  readonly name: string;
  readonly part?: string;
  readonly since: number;
  readonly requests: number;
  readonly errors: number;
  readonly codes: Rates;
}

export interface TopStatistics {
  readonly now: number;
  readonly loaded: number;
  readonly connections: Rates;
  readonly slow?: readonly TopSlowMember[];
  readonly failing?: readonly TopFailingRow[];
  readonly limits?: Readonly<Record<string, Rates>>;
  readonly servers?: Readonly<Record<string, TopServer>>;
}

interface Node {
  readonly name: string;
  readonly state: string;
  /** Seconds since the first change that it has not applied. */
  readonly lag?: number;
  readonly reason?: string;
}

interface Certificate {
  readonly names: readonly string[];
  readonly subject: string;
  readonly fingerprint: string;
  readonly days_left: number;
  readonly expired: boolean;
}

export interface TopChange {
  readonly at: string;
  /** Absent: a reload. */
  readonly actor?: string;
  readonly message?: string;
  /** Null: they were too long to be kept. */
  readonly changes?: readonly { readonly place: string }[] | null;
  /** Of a reload. */
  readonly diff?: readonly string[];
}

export interface TopFigures {
  readonly session?: { readonly node: string; readonly srv: string };
  readonly statistics: TopStatistics | undefined;
  readonly http: readonly TopUpstream[];
  readonly stream: readonly TopUpstream[];
  readonly nodes: readonly Node[];
  readonly certificates: readonly Certificate[];
  /** The newest first. */
  readonly changes: readonly TopChange[];
  /** Parts that cannot be read, with the reason. */
  readonly missing: readonly string[];
}

/** Changes of the history that a screen shows. */
const CHANGES = 3;

/** Everything that one screen shows. Parts whose modules are not loaded are empty. @throws CommandFailure */
export async function readFigures(client: ApiClient): Promise<TopFigures> {
  const missing: string[] = [];
  const part = async <T>(path: string): Promise<T | undefined> => {
    const response = await client.send({ method: 'GET', path: `/v1${path}` });
    if (response.status < 300) return (await wholeBody(client, response)) as T;
    const failure = responseFailure(response.status, response.body);
    if (response.status === 401 || failure.code === EXIT.unavailable) throw failure;
    if (response.status === 403) missing.push(failure.message);
    return undefined;
  };
  const [session, statistics, http, stream, cluster, servers, changes] = await Promise.all([
    part<{ node: string; srv: string }>('/dashboard'),
    part<TopStatistics>('/vts?group=servers'),
    part<readonly TopUpstream[]>('/upstream_api/http/upstreams?limit=100'),
    part<readonly TopUpstream[]>('/upstream_api/stream/upstreams?limit=100'),
    part<{ nodes: readonly Node[] }>('/cluster'),
    part<readonly unknown[]>('/ssl'),
    part<readonly TopChange[]>(`/history?limit=${CHANGES}`),
  ]);
  if (statistics === undefined && http === undefined) {
    throw new CommandFailure(EXIT.missing, 'the API has neither statistics nor upstreams', [
      'load srv_http_vts_module and srv_http_dyn_upstream_module',
    ]);
  }
  return {
    ...(session && { session }),
    statistics,
    http: http ?? [],
    stream: stream ?? [],
    nodes: cluster?.nodes ?? [],
    certificates: certificatesOf(servers ?? []),
    changes: changes ?? [],
    missing,
  };
}

/** Each certificate once, whatever the number of servers that use it. */
function certificatesOf(servers: readonly unknown[]): readonly Certificate[] {
  const found = new Map<string, Certificate>();
  const search = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    if ('days_left' in value && 'fingerprint' in value) found.set(String(value.fingerprint), value as Certificate);
    for (const part of Object.values(value)) search(part);
  };
  search(servers);
  return [...found.values()];
}
