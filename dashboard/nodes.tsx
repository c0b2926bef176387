/** Nodes of the cluster, workers of this one, and what happened. */
import { bytes, clock, count, duration, ms, percent } from './format.js';
import { live } from './live.js';
import { useRead } from './read.js';
import { Missing, Panel } from './shell.js';
import { State } from './state-mark.js';
import { Nothing, Table, type Column } from './table.js';
import type { ClusterNode, ClusterRedis, ServerEvent } from './types.js';
import { useValue } from './value.js';

const NODES: readonly Column<ClusterNode>[] = [
  { title: 'Node', of: ({ name }) => name },
  { title: 'State', of: ({ state }) => <State state={state} word={state.replaceAll('_', ' ')} /> },
  { title: 'Since', of: ({ since }) => since !== undefined && <Since time={since} /> },
  { title: 'Why', of: ({ reason, stale }) => reason ?? (stale === true ? 'serves the copy that it started with' : '') },
  { title: 'Address', of: ({ address }) => address },
  { title: 'srv', of: ({ srv }) => srv },
  { title: 'Version', isNumber: true, of: ({ version }) => count(version) },
  { title: 'Lacks changes of', isNumber: true, of: ({ lag = 0 }) => (lag > 0 ? `the last ${duration(lag * 1000)}` : '–') },
  { title: 'Files differ in', of: ({ drift = [] }) => (drift.length === 0 ? '–' : drift.join(', ')) },
];

const REDIS: readonly Column<ClusterRedis>[] = [
  { title: 'Redis', of: ({ name }) => name },
  { title: 'State', of: ({ state }) => <State state={state} /> },
  { title: 'Since', of: ({ since }) => since !== undefined && <Since time={since} /> },
  { title: 'Why', of: ({ reason }) => reason ?? '' },
  { title: 'Role', of: ({ role }) => role ?? '–' },
  { title: 'Latency', isNumber: true, of: ({ latency_ms: latency }) => ms(latency) },
  { title: 'Memory', isNumber: true, of: ({ memory }) => bytes(memory) },
];

function Since({ time }: { readonly time: string }) {
  const now = useValue(live.now);
  return (
    <time class="num" dateTime={time} title={clock(time, now)}>
      {duration(now - Date.parse(time))}
    </time>
  );
}

interface Delay {
  readonly p99: number;
  readonly max: number;
}
/** Figures of a thread; absent: it does not respond. */
interface Vitals {
  readonly uptime?: number;
  readonly loop_delay?: Delay;
  readonly utilization?: number;
  readonly gc?: { readonly max: number };
  readonly memory?: { readonly heap_used: number; readonly heap_limit: number };
}
interface Worker extends Vitals {
  readonly worker: number;
  readonly responding: boolean;
  readonly connections: { readonly active: number };
  readonly requests: number;
}
interface Threads {
  readonly process: { readonly pid: number; readonly rss: number; readonly restarts: number; readonly uptime: number };
  readonly main: Vitals;
  readonly workers: readonly Worker[];
}
type Thread = Vitals & Partial<Worker>;

/** A loop that is later than this delays all requests of its worker. Milliseconds. */
const LATE = 100;
const FULL = 0.9;
const marked = (text: string, isMarked: boolean) => (isMarked ? <span class="warn">{text}</span> : text);
const THREADS: readonly Column<Thread>[] = [
  { title: 'Thread', of: ({ worker }) => (worker === undefined ? 'main' : `worker ${worker}`) },
  {
    title: 'State',
    of: ({ responding = true }) => <State state={responding ? 'up' : 'bad'} word={responding ? 'responds' : 'does not respond'} />,
  },
  { title: 'Up for', isNumber: true, of: ({ uptime }) => (uptime === undefined ? '–' : duration(uptime * 1000)) },
  { title: 'Connections', isNumber: true, of: ({ connections }) => count(connections?.active) },
  { title: 'Requests', isNumber: true, of: ({ requests }) => count(requests) },
  { title: 'Busy', isNumber: true, of: ({ utilization: busy }) => (busy === undefined ? '–' : marked(percent(busy, 1), busy > FULL)) },
  { title: 'Delay p99', isNumber: true, of: ({ loop_delay: delay }) => marked(ms(delay?.p99), (delay?.p99 ?? 0) > LATE) },
  { title: 'Longest', isNumber: true, of: ({ loop_delay: delay }) => marked(ms(delay?.max), (delay?.max ?? 0) > LATE) },
  { title: 'Longest GC', isNumber: true, of: ({ gc }) => marked(ms(gc?.max), (gc?.max ?? 0) > LATE) },
  { title: 'Memory', isNumber: true, of: ({ memory }) => heap(memory) },
];

function heap(memory: Vitals['memory']) {
  if (memory === undefined) return '–';
  const { heap_used: used, heap_limit: limit } = memory;
  return marked(`${bytes(used)} of ${bytes(limit)}`, used > limit * FULL);
}

export function Nodes() {
  const cluster = useValue(live.cluster);
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
      {cluster?.redis !== undefined && (
        <Panel title="Redis">
          <Table label="Redis" rows={[cluster.redis]} columns={REDIS} id={({ name }) => name} />
        </Panel>
      )}
      <Workers />
      <Events />
    </>
  );
}

function Workers() {
  const { data, error } = useRead<Threads>('/workers', 2000);
  const own = data?.process;
  const restarts = own?.restarts === 1 ? '1 restart' : `${count(own?.restarts)} restarts`;
  return (
    <Panel
      title="Workers of this node"
      note={own && `process ${own.pid}, up for ${duration(own.uptime * 1000)}, ${bytes(own.rss)} of memory, ${restarts} of workers`}
    >
      {data === undefined ? (
        <Nothing error={error}>Loading …</Nothing>
      ) : (
        <Table label="Workers" rows={[data.main, ...data.workers]} columns={THREADS} id={({ worker }: Thread) => String(worker)} />
      )}
    </Panel>
  );
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
    <Panel title="Events" note={events.length === 0 ? undefined : `the last ${count(events.length)}`}>
      {events.length === 0 ? (
        <Nothing error={missing.get('events') ?? ''}>Nothing has happened.</Nothing>
      ) : (
        <Table label="Events" rows={events} columns={columns} id={({ id, time, type }) => `${id} ${time} ${type}`} />
      )}
    </Panel>
  );
}
