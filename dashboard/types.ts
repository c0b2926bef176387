/** What the API returns, as far as the page shows it. */

export interface Session {
  readonly actor: string;
  readonly by: 'token' | 'certificate' | 'basic' | 'none';
  readonly scopes?: readonly string[];
  readonly read_only: boolean;
  readonly node: string;
  readonly srv: string;
}

export interface HealthChecks {
  readonly checks: number;
  readonly fails: number;
  readonly last_error?: string;
  readonly last_at?: string;
}

export interface Peer {
  readonly id: number;
  readonly server: string;
  readonly name: string;
  readonly parent?: number;
  readonly backup: boolean;
  readonly weight: number;
  readonly state: string;
  readonly active: number;
  readonly requests?: number;
  readonly connections?: number;
  readonly responses?: Readonly<Record<string, unknown>>;
  readonly fails: number;
  readonly unavail: number;
  readonly health_checks: HealthChecks;
  readonly downtime: number;
  readonly downstart?: string;
  readonly response_time: number;
}

export type Engine = 'http' | 'stream';

export interface Upstream {
  readonly engine: Engine;
  readonly name: string;
  readonly keepalive?: number;
  readonly zombies: number;
  readonly queue?: { readonly size: number; readonly max_size: number; readonly overflows: number };
  readonly peers: readonly Peer[];
}

/** A member as it is configured: the body of a change. */
export interface Member {
  readonly id: number;
  readonly server: string;
  readonly weight: number;
  readonly max_conns: number;
  readonly max_fails: number;
  readonly fail_timeout: string;
  readonly slow_start: string;
  readonly backup: boolean;
  readonly down: boolean;
  readonly drain: boolean;
}

export interface Times {
  readonly count: number;
  readonly sum: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
}

type Rate = Readonly<Record<'1s' | '10s' | '1m' | '5m', number>>;

export interface Row {
  readonly requests: number;
  readonly active?: number;
  readonly responses: Readonly<Record<string, number>> & { readonly codes?: never };
  readonly received: number;
  readonly sent: number;
  readonly aborted?: number;
  readonly retries?: number;
  readonly cache?: Readonly<Record<string, number>>;
  readonly limits?: Readonly<Record<string, number>>;
  readonly times: Times;
  readonly rates: Readonly<Record<'requests' | 'received' | 'sent' | 'errors', Rate>>;
}

export interface UpstreamRow extends Omit<Row, 'requests'> {
  readonly attempts: number;
  readonly failures: number;
  readonly timeouts: number;
  readonly connect_times?: Times;
  readonly header_times?: Times;
  readonly servers?: Readonly<Record<string, UpstreamRow>>;
}

export interface Statistics {
  readonly now: number;
  readonly loaded: number;
  readonly sample: number;
  /** Of all requests in the last 10 seconds. */
  readonly recent: Times;
  readonly connections: Readonly<Record<string, number>>;
  readonly tls: Readonly<Record<string, unknown>>;
  readonly workers: readonly Readonly<Record<string, number>>[];
  readonly caches: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly limits: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly groups: Readonly<Record<string, number>>;
  readonly servers?: Readonly<Record<string, Row>>;
  readonly locations?: Readonly<Record<string, Row>>;
  readonly upstreams?: Readonly<Record<string, UpstreamRow>>;
}

export interface Change {
  readonly version: number;
  readonly at: string;
  readonly node: string;
  readonly origin: string;
  readonly actor: string;
  readonly message: string;
  readonly changes: readonly { readonly place: string; readonly before?: string | null; readonly after?: string | null }[];
}

export interface ServerEvent {
  readonly id?: string;
  readonly type: string;
  readonly time: string;
  readonly node?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface VirtualServer {
  readonly engine: Engine;
  readonly listens: readonly string[];
  readonly server_name: string;
  readonly is_static: boolean;
  readonly server_body: string;
}

export interface Location {
  readonly addr_port: string;
  readonly server_name: string;
  readonly location_rule: string;
  readonly location_name: string;
  readonly location_body: string;
  readonly proxy_pass?: string;
  readonly is_static: boolean;
  readonly locations?: readonly Location[];
}

export interface Cache {
  readonly name: string;
  readonly size: number;
  readonly max_size: number | null;
  readonly entries: number;
  readonly hits: number;
  readonly misses: number;
  readonly stale: number;
  readonly updating: number;
  readonly revalidated: number;
  readonly expired: number;
  readonly bypass: number;
  readonly bytes: number;
  readonly member_bytes: number;
}

export interface Certificate {
  readonly cert_type: string;
  readonly source: string;
  readonly subject: string;
  readonly issuer: string;
  readonly names: readonly string[];
  readonly fingerprint: string;
  readonly not_after: string;
  readonly days_left: number;
  readonly expired: boolean;
}

export interface ClusterNode {
  readonly name: string;
  readonly address: string;
  readonly srv: string;
  readonly version: number;
  readonly state: string;
  readonly lag: number;
  readonly since?: string;
}

export interface Cluster {
  readonly name: string;
  readonly node: string;
  readonly version: number;
  readonly nodes: readonly ClusterNode[];
}

export interface Pair {
  readonly key: string;
  readonly value: string;
}
