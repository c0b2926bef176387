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

/** A member that needs more time until the first byte than the others of its upstream, or than it usually needs. Milliseconds. */
export interface SlowMember {
  readonly engine: Engine;
  readonly upstream: string;
  readonly server: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly time: number;
  readonly reference: number;
  readonly than: 'others' | 'usual';
}

/** A server, a location, an upstream or a member (`part`) whose requests fail. Figures are per second. */
export interface FailingRow {
  readonly section: string;
  readonly name: string;
  readonly part?: string;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly requests: number;
  readonly errors: number;
  readonly codes: Readonly<Record<string, number>>;
}

/** A zone of a limit: results of requests, and keys in it. */
export type LimitFigures = Readonly<Record<string, number>> & {
  readonly entries?: number;
  readonly capacity?: number;
  readonly evicted?: number;
};

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
  readonly limits: Readonly<Record<string, LimitFigures>>;
  readonly slow: readonly SlowMember[];
  readonly failing: readonly FailingRow[];
  readonly groups: Readonly<Record<string, number>>;
  readonly servers?: Readonly<Record<string, Row>>;
  readonly locations?: Readonly<Record<string, Row>>;
  readonly upstreams?: Readonly<Record<string, UpstreamRow>>;
}

export type Phase = 'before' | 'queue' | 'connect' | 'first_byte' | 'body' | 'client';

/** Times are milliseconds. */
export interface SlowRequest {
  readonly time: string;
  readonly duration: number;
  readonly phases: Readonly<Record<Phase, number>>;
  readonly server: string;
  readonly client: string;
  readonly method: string;
  readonly uri: string;
  readonly host: string;
  readonly status: number;
  readonly attempts: readonly {
    readonly upstream: string;
    readonly address: string;
    readonly status: number;
    readonly failure?: string;
  }[];
  readonly request_id: string;
}

export interface SlowRequests {
  readonly total: number;
  readonly lost: number;
  readonly requests: readonly SlowRequest[];
}

/** A version of the configuration: of a call, or of a reload, which has no actor and a difference of the files. */
export interface Change {
  readonly version: number;
  readonly at: string;
  readonly node: string;
  readonly origin: string;
  readonly actor?: string;
  readonly message?: string;
  /** Null: they were too long to be kept. */
  readonly changes?: readonly ChangedPlace[] | null;
  readonly diff?: readonly string[];
}

export interface ChangedPlace {
  readonly place: string;
  readonly before?: string | null;
  readonly after?: string | null;
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
  /** Seconds since the first change that it has not applied. */
  readonly lag?: number;
  readonly since?: string;
  readonly reason?: string;
  readonly stale?: boolean;
  /** Directives of the main level that its files have otherwise than those of this node. */
  readonly drift?: readonly string[];
}

export interface ClusterRedis {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly since?: string;
  readonly role?: string;
  readonly latency_ms?: number;
  readonly memory?: number;
}

export interface Cluster {
  readonly name: string;
  readonly node: string;
  readonly version: number;
  readonly nodes: readonly ClusterNode[];
  readonly redis?: ClusterRedis;
}

export interface Pair {
  readonly key: string;
  readonly value: string;
}
