import type { ClusterView } from '../../core/contract/cluster.js';
import type { FigureFamily } from '../../core/contract/families.js';
import type { Labels } from '../../core/contract/metrics.js';
import type { ServerStatus } from '../../core/contract/server-status.js';
import type { Statistics } from '../../core/contract/statistics.js';

type Unit = 'seconds' | 'bytes';
const family =
  (kind: 'counter' | 'gauge', unit?: Unit) =>
  (name: string, help: string, value: number): FigureFamily => ({
    name,
    help,
    kind,
    ...(unit && { unit }),
    samples: [{ labels: {}, value }],
  });
const counter = family('counter');
const gauge = family('gauge');
const secondsGauge = family('gauge', 'seconds');

export interface NodeFacts {
  readonly version: string;
  /** Of the configuration. */
  readonly configuration: number;
  readonly statistics: Statistics;
  readonly status: ServerStatus;
}

/** Figures of this server as a whole. */
export function* nodeFamilies({ version, configuration, statistics, status }: NodeFacts): Generator<FigureFamily> {
  const build: Labels = { version, node: process.versions.node };
  yield { name: 'srv_build_info', help: 'Versions of srv and Node.js.', kind: 'gauge', samples: [{ labels: build, value: 1 }] };
  yield gauge('srv_config_version', 'Version of the configuration.', configuration);
  yield secondsGauge('srv_config_load_timestamp', 'When the files of the configuration were read, since 1970.', status.loadedAt);
  yield counter('srv_reloads', 'Reloads that took effect.', status.reloads);
  yield counter('srv_restarts', 'Workers and helpers that were started again after a failure.', status.respawned);
  const { active, reading, writing, waiting } = statistics;
  yield {
    name: 'srv_connections',
    help: 'Connections of clients by state: active is all of them.',
    kind: 'gauge',
    samples: Object.entries({ active, reading, writing, waiting }).map(([state, value]) => ({ labels: { state }, value })),
  };
  yield counter('srv_connections_accepted', 'Connections of clients that were accepted.', statistics.accepted);
  yield counter('srv_connections_handled', 'Connections of clients that were handled.', statistics.handled);
  yield counter('srv_requests', 'Requests of clients.', statistics.requests);
  yield counter('srv_tls_handshakes', 'TLS handshakes that succeeded.', statistics.handshakes);
  yield counter('srv_tls_handshakes_failed', 'TLS handshakes that failed.', statistics.handshakesFailed);
  yield counter('srv_tls_sessions_reused', 'TLS handshakes that resumed a session.', statistics.sessionReuses);
  yield* workerFamilies(statistics, status);
  yield* zoneFamilies(status);
}

function* workerFamilies(statistics: Statistics, status: ServerStatus): Generator<FigureFamily> {
  const workers = Array.from(status.workers(), ({ index, place }) => ({ worker: String(index), ...statistics.ofWorker(place) }));
  const each = (name: string, help: string, kind: 'counter' | 'gauge', of: 'accepted' | 'requests' | 'active'): FigureFamily => ({
    name,
    help,
    kind,
    samples: workers.map(({ worker, [of]: value }) => ({ labels: { worker }, value })),
  });
  yield gauge('srv_workers', 'Workers that serve.', workers.length);
  yield each('srv_worker_connections_accepted', 'Connections that a worker accepted.', 'counter', 'accepted');
  yield each('srv_worker_requests', 'Requests of a worker.', 'counter', 'requests');
  yield each('srv_worker_active_connections', 'Connections of a worker.', 'gauge', 'active');
}

function* zoneFamilies(status: ServerStatus): Generator<FigureFamily> {
  // Zones of http and stream may have the same name.
  const zones = new Map<string, { used: number; free: number }>();
  for (const { name, used, free } of status.zones()) {
    const known = zones.get(name);
    zones.set(name, { used: used + (known?.used ?? 0), free: free + (known?.free ?? 0) });
  }
  for (const what of ['used', 'free'] as const) {
    const samples = Array.from(zones, ([zone, bytes]) => ({ labels: { zone }, value: bytes[what] }));
    yield { name: `srv_zone_${what}`, help: `Memory of a zone that is ${what}.`, unit: 'bytes', kind: 'gauge', samples };
  }
}

/** Nodes of the cluster, as this one sees them. */
export function* clusterFamilies({ nodes, redis }: ClusterView): Generator<FigureFamily> {
  if (redis === undefined) return;
  yield gauge('srv_cluster_redis_up', 'Redis of the cluster can be reached.', redis.state === 'ready' ? 1 : 0);
  if (redis.latency !== undefined) yield secondsGauge('srv_cluster_redis_latency', 'Time of a call of Redis.', redis.latency);
  const each = (name: string, help: string, of: (node: (typeof nodes)[number]) => number | undefined, unit?: Unit): FigureFamily => ({
    name,
    help,
    kind: 'gauge',
    ...(unit && { unit }),
    samples: nodes.flatMap((node) => {
      const value = of(node);
      return value === undefined ? [] : [{ labels: { node: node.name }, value }];
    }),
  });
  yield each('srv_cluster_node_in_sync', 'A node has all changes of the configuration.', ({ state }) => (state === 'in_sync' ? 1 : 0));
  yield each('srv_cluster_node_version', 'Version of the configuration of a node.', ({ version }) => version);
  const lag = ({ lag: seconds }: (typeof nodes)[number]): number | undefined => (seconds === undefined ? undefined : seconds * 1000);
  yield each('srv_cluster_node_lag', 'Time since the first change that a node has not applied.', lag, 'seconds');
}
