/** The upstreams and servers that the overview shows: those with problems first. */
import { useMemo } from 'preact/hooks';
import { count, ms, rate } from './format.js';
import { live } from './live.js';
import { FailingMembers, isPlanned, isReduced, isUsable, SlowMembers } from './members.js';
import { Missing, Panel } from './shell.js';
import { State } from './state-mark.js';
import { Table, type Column } from './table.js';
import type { Row, Statistics, Upstream } from './types.js';
import { useValue } from './value.js';

const LISTED = 8;
/** Slow or failing members weigh as much as one of ten that is away. */
const TROUBLED_RANK = 0.1;

/** Below 0: no member is usable. Members that were set down or to drain are as they are meant to be. */
function rankOf({ peers }: Upstream): number {
  if (!peers.some(isUsable)) return -1;
  return peers.filter((peer) => isUsable(peer) || isPlanned(peer)).length / peers.length;
}

const requestsOf = ({ peers }: Upstream): number =>
  peers.reduce((sum, { requests = 0, connections = 0 }) => sum + requests + connections, 0);

interface Ranked {
  readonly upstream: Upstream;
  /** Members. */
  readonly slow: number;
  readonly failing: number;
  readonly rank: number;
}

const UPSTREAMS: readonly Column<Ranked>[] = [
  {
    title: 'Name',
    of: ({ upstream: { engine, name } }) => (
      <>
        <a href={`#/upstreams/${engine}/${encodeURIComponent(name)}`}>{name}</a>
        {engine === 'stream' && <span class="tag">stream</span>}
      </>
    ),
  },
  { title: 'State', of: stateOf },
  {
    title: 'Usable',
    isNumber: true,
    of: ({ upstream: { peers } }) => `${count(peers.filter(isUsable).length)} of ${count(peers.length)}`,
  },
  { title: 'Active', isNumber: true, of: ({ upstream: { peers } }) => count(peers.reduce((sum, { active }) => sum + active, 0)) },
  {
    title: 'Requests',
    isNumber: true,
    of: ({ upstream }) => count(requestsOf(upstream)),
  },
];

function stateOf({ upstream, slow, failing }: Ranked) {
  if (!upstream.peers.some(isUsable)) return <State state="bad" word="no usable member" />;
  if (failing > 0) return <State state="warn" word={`${count(failing)} failing`} />;
  if (isReduced(upstream)) return <State state="warn" word="reduced" />;
  return slow > 0 ? <State state="warn" word={`${count(slow)} slow`} /> : <State state="up" />;
}

const SERVERS: readonly Column<readonly [name: string, row: Row]>[] = [
  { title: 'Name', of: ([name]) => name },
  { title: 'Requests/s', isNumber: true, of: ([, { rates }]) => rate(rates.requests['10s']) },
  {
    title: '5xx/s',
    isNumber: true,
    of: ([, { rates }]) => <span class={rates.errors['10s'] > 0 ? 'bad' : ''}>{rate(rates.errors['10s'])}</span>,
  },
  { title: 'p50', isNumber: true, of: ([, { times }]) => ms(times.count > 0 ? times.p50 : undefined) },
  { title: 'p99', isNumber: true, of: ([, { times }]) => ms(times.count > 0 ? times.p99 : undefined) },
];

/** Those with a problem first, then those with the most requests. */
function worst(upstreams: readonly Upstream[] | undefined, statistics: Statistics | undefined): readonly Ranked[] | undefined {
  const [slowMembers, failingMembers] = [new SlowMembers(statistics), new FailingMembers(statistics)];
  return upstreams
    ?.map((upstream): Ranked => {
      const [slow, failing] = [slowMembers.of(upstream).size, failingMembers.of(upstream).size];
      return { upstream, slow, failing, rank: rankOf(upstream) - (slow + failing > 0 ? TROUBLED_RANK : 0) };
    })
    .sort((one, other) => one.rank - other.rank || requestsOf(other.upstream) - requestsOf(one.upstream))
    .slice(0, LISTED);
}

export function UpstreamsTable() {
  const upstreams = useValue(live.upstreams);
  const statistics = useValue(live.statistics);
  const troubled = JSON.stringify([statistics?.slow, statistics?.failing]);
  // Statistics come each second, with the same slow and failing members mostly.
  const shown = useMemo(() => worst(upstreams, statistics), [upstreams, troubled]);
  return (
    <Panel title="Upstreams" note={upstreams && count(upstreams.length)} actions={<a href="#/upstreams">All upstreams</a>}>
      {shown === undefined ? (
        <Missing part="upstreams" />
      ) : shown.length === 0 ? (
        <p class="empty">No upstream has a zone: those with one are shown here.</p>
      ) : (
        <Table label="Upstreams" rows={shown} columns={UPSTREAMS} id={({ upstream: { engine, name } }) => `${engine} ${name}`} />
      )}
    </Panel>
  );
}

export function ServersTable() {
  const statistics = useValue(live.statistics);
  const rows = Object.entries(statistics?.servers ?? {}).sort(
    ([, one], [, other]) => other.rates.errors['10s'] - one.rates.errors['10s'] || other.rates.requests['10s'] - one.rates.requests['10s'],
  );
  return (
    <Panel title="Servers" note={statistics && count(rows.length)} actions={<a href="#/servers">All servers</a>}>
      {statistics === undefined ? (
        <Missing part="statistics" />
      ) : rows.length === 0 ? (
        <p class="empty">No server is counted: set vhost_traffic_status_zone in http.</p>
      ) : (
        <Table label="Servers" rows={rows.slice(0, LISTED)} columns={SERVERS} id={([name]) => name} />
      )}
    </Panel>
  );
}
