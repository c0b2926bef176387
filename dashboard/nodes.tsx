/** Nodes of the cluster, workers of this one, and what happened. */
import { clock, count } from './format.js';
import { columnsOf } from './limits.js';
import { live } from './live.js';
import { useRead } from './read.js';
import { Missing, Panel } from './shell.js';
import { State } from './state-mark.js';
import { Nothing, Table, type Column } from './table.js';
import type { ClusterNode, ServerEvent } from './types.js';
import { useValue } from './value.js';

type Fields = Readonly<Record<string, unknown>>;

const NODES: readonly Column<ClusterNode>[] = [
  { title: 'Node', of: ({ name }) => name },
  { title: 'State', of: ({ state }) => <State state={state} word={state.replaceAll('_', ' ')} /> },
  { title: 'Address', of: ({ address }) => address },
  { title: 'srv', of: ({ srv }) => srv },
  { title: 'Version', isNumber: true, of: ({ version }) => count(version) },
  { title: 'Behind', isNumber: true, of: ({ lag }) => count(lag) },
];

export function Nodes() {
  const cluster = useValue(live.cluster);
  const statistics = useValue(live.statistics);
  const workers = useRead<unknown>('/workers', 2000);
  const rows = workersOf(workers.data) ?? statistics?.workers ?? [];
  return (
    <>
      <h1 class="hidden">Nodes and workers</h1>
      <Panel title="Nodes" note={cluster && count(cluster.nodes.length)}>
        {cluster === undefined ? (
          <Missing part="cluster" />
        ) : (
          <Table label="Nodes" rows={cluster.nodes} columns={NODES} id={({ name }) => name} />
        )}
      </Panel>
      <Panel title="Workers of this node" note={count(rows.length)}>
        {rows.length === 0 ? (
          <Nothing error={workers.error}>Loading …</Nothing>
        ) : (
          <Table label="Workers" rows={rows} columns={columnsOf(rows, 'worker')} id={({ worker }) => String(worker)} />
        )}
      </Panel>
      <Events />
    </>
  );
}

/** A list of workers, as it is or in a field. */
function workersOf(found: unknown): readonly Fields[] | undefined {
  if (Array.isArray(found)) return found as readonly Fields[];
  const { workers } = (found ?? {}) as { readonly workers?: readonly Fields[] };
  return Array.isArray(workers) ? workers : undefined;
}

function Events() {
  const events = useValue(live.events);
  const now = useValue(live.now);
  const missing = useValue(live.missing);
  const columns: readonly Column<ServerEvent>[] = [
    { title: 'Event', of: ({ type }) => type },
    { title: 'Time', of: ({ time }) => <span class="num">{clock(time, now)}</span> },
    { title: 'About', of: ({ data }) => <code class="value">{JSON.stringify(data)}</code> },
  ];
  return (
    <Panel title="Events" note="since this page was opened">
      {events.length === 0 ? (
        <Nothing error={missing.get('events') ?? ''}>Nothing has happened.</Nothing>
      ) : (
        <Table label="Events" rows={events} columns={columns} id={({ id, time, type }) => `${id} ${time} ${type}`} />
      )}
    </Panel>
  );
}
