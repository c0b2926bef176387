import type { FigureFamily, Sample } from '../../core/contract/families.js';
import type { PeerView, Upstreams, UpstreamView } from '../../core/contract/upstreams.js';

type All = Pick<Upstreams, 'all'>;

/** State of the members of all upstreams. */
export function* memberFamilies(engine: 'http' | 'stream', upstreams: All): Generator<FigureFamily> {
  const prefix = `srv_${engine}`;
  yield {
    name: `${prefix}_member_up`,
    help: 'A server of an upstream gets requests: 0 if it is down, draining, unavailable or unhealthy.',
    kind: 'gauge',
    samples: peerSamples(upstreams, ({ state }) => (state === 'up' ? 1 : 0)),
  };
  yield {
    name: `${prefix}_member_state`,
    help: 'State of a server of an upstream that is not up.',
    kind: 'gauge',
    samples: stateSamples(upstreams),
  };
  yield {
    name: `${prefix}_member_active`,
    help: 'Requests and sessions of a server of an upstream under way.',
    kind: 'gauge',
    samples: peerSamples(upstreams, ({ active }) => active),
  };
  yield {
    name: `${prefix}_upstream_idle_connections`,
    help: 'Idle connections to servers of an upstream.',
    kind: 'gauge',
    samples: upstreamSamples(upstreams, ({ keepalive }) => keepalive),
  };
  yield {
    name: `${prefix}_upstream_queued_requests`,
    help: 'Requests that wait for a server of an upstream.',
    kind: 'gauge',
    samples: upstreamSamples(upstreams, ({ queue }) => queue?.size),
  };
}

function* peerSamples(upstreams: All, value: (peer: PeerView) => number): Generator<Sample> {
  for (const { name, peers } of upstreams.all())
    for (const peer of peers) if (peer.state !== 'resolving') yield { labels: { upstream: name, server: peer.server }, value: value(peer) };
}

/** Most of the members are up. */
function* stateSamples(upstreams: All): Generator<Sample | undefined> {
  for (const { name, peers } of upstreams.all())
    for (const { server, state } of peers) yield state === 'up' ? undefined : { labels: { upstream: name, server, state }, value: 1 };
}

function* upstreamSamples(upstreams: All, value: (upstream: UpstreamView) => number | undefined): Generator<Sample | undefined> {
  for (const upstream of upstreams.all()) {
    const found = value(upstream);
    yield found === undefined ? undefined : { labels: { upstream: upstream.name }, value: found };
  }
}
