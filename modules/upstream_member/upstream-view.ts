import type { HealthFigures } from '../../core/contract/health.js';
import type { UpstreamView, PeerView } from '../../core/contract/upstreams.js';
import type { EngineName } from '../../core/contract/spec.js';

/** An upstream as the API shows it, with the figures of all workers. */
export function upstreamJson(upstream: UpstreamView, engine: EngineName): Readonly<Record<string, unknown>> {
  return {
    name: upstream.name,
    zone: upstream.zone,
    ...(engine === 'http' && { keepalive: upstream.keepalive }),
    zombies: upstream.zombies,
    ...queueJson(upstream),
    peers: Array.from(upstream.peers, (peer) => peerJson(peer, engine)),
  };
}

function queueJson({ queue }: UpstreamView): object {
  return queue === undefined ? {} : { queue: { size: queue.size, max_size: queue.maxSize, overflows: queue.overflows } };
}

function peerJson(peer: PeerView, engine: EngineName): Readonly<Record<string, unknown>> {
  return {
    id: peer.id,
    server: peer.server,
    name: peer.name,
    ...(peer.parent !== undefined && { parent: peer.parent }),
    backup: peer.backup,
    weight: peer.weight,
    state: peer.state,
    active: peer.active,
    ...(peer.maxConns > 0 && { max_conns: peer.maxConns }),
    ...(engine === 'http' ? { requests: peer.requests, responses: responses(peer) } : { connections: peer.requests }),
    sent: peer.sent,
    received: peer.received,
    fails: peer.fails,
    unavail: peer.unavail,
    health_checks: checksJson(peer.health),
    downtime: peer.downtime,
    ...(peer.downstart > 0 && { downstart: new Date(peer.downstart).toISOString() }),
    ...(peer.selected > 0 && { selected: new Date(peer.selected).toISOString() }),
    ...(engine === 'http'
      ? { header_time: Math.round(peer.headerTime) }
      : { connect_time: Math.round(peer.connectTime), first_byte_time: Math.round(peer.headerTime) }),
    response_time: Math.round(peer.responseTime),
  };
}

function checksJson({ checks, fails, unhealthy, lastAt, lastPassed, lastError }: HealthFigures): Readonly<Record<string, unknown>> {
  if (checks === 0) return { checks, fails, unhealthy };
  const lastTime = new Date(lastAt).toISOString();
  return { checks, fails, unhealthy, last_passed: lastPassed, ...(lastError !== '' && { last_error: lastError }), last_at: lastTime };
}

function responses({ responses: classes, codes }: PeerView): Readonly<Record<string, unknown>> {
  const counts = [1, 2, 3, 4, 5].map((first): [string, number] => [`${first}xx`, classes[first] ?? 0]);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  return { ...Object.fromEntries(counts), codes, total };
}
