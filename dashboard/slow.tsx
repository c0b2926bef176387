/** Which members and which requests are slow, since when, and in which phase. */
import { clock, count, duration, ms } from './format.js';
import { live } from './live.js';
import { mostIn, PhaseBar, phasesOf, PhaseSummary } from './phases.js';
import { Missing, Panel } from './shell.js';
import { Table, type Column } from './table.js';
import type { SlowMember, SlowRequest } from './types.js';
import { useValue } from './value.js';

/** Rows of the tables. */
const TARGETS = 20;
const LISTED = 50;

function memberColumns(now: number): readonly Column<SlowMember>[] {
  return [
    { title: 'Member', of: ({ server }) => server },
    {
      title: 'Upstream',
      of: ({ engine, upstream }) => <a href={`#/upstreams/${engine}/${encodeURIComponent(upstream)}`}>{upstream}</a>,
    },
    { title: 'First byte after', isNumber: true, of: ({ time }) => <span class="warn">{ms(time)}</span> },
    {
      title: 'Compared with',
      isNumber: true,
      of: ({ reference, than }) => `${ms(reference)} ${than === 'others' ? 'of the others' : 'usually'}`,
    },
    {
      title: 'Since',
      isNumber: true,
      of: ({ since }) => (
        <time dateTime={new Date(since).toISOString()}>
          {clock(since, now)}, {duration(now - since)}
        </time>
      ),
    },
  ];
}

function requestColumns(now: number): readonly Column<SlowRequest>[] {
  return [
    {
      title: 'Request',
      of: (request) => <TargetName request={request} uri={request.uri} />,
    },
    { title: 'Over at', isNumber: true, of: ({ time }) => <time dateTime={time}>{clock(time, now)}</time> },
    { title: 'Status', isNumber: true, of: ({ status }) => <span class={status >= 500 ? 'bad' : ''}>{status}</span> },
    { title: 'Time', isNumber: true, of: ({ duration: time }) => ms(time) },
    { title: 'Phases', of: ({ phases }) => <PhaseBar phases={phases} /> },
    { title: 'Most in', of: ({ phases }) => mostIn(phases) },
    { title: 'Members', of: ({ attempts }) => <Attempts attempts={attempts} /> },
    { title: 'Client', of: ({ client }) => client },
  ];
}

/** Slow requests of one method, host and path. */
interface Target {
  readonly id: string;
  readonly requests: readonly SlowRequest[];
}

/** Those with the most slow requests first. */
function targetsOf(requests: readonly SlowRequest[]): readonly Target[] {
  const found = Map.groupBy(requests, ({ method, host, uri }) => JSON.stringify([method, host, pathOf(uri)]));
  return Array.from(found, ([id, list]) => ({ id, requests: list })).sort((one, other) => other.requests.length - one.requests.length);
}

const pathOf = (uri: string): string => uri.replace(/\?.*/s, '');
const mean = (requests: readonly SlowRequest[]): number => requests.reduce((sum, { duration: time }) => sum + time, 0) / requests.length;

function targetColumns(now: number): readonly Column<Target>[] {
  return [
    { title: 'Requests to', of: ({ requests: [first] }) => first && <TargetName request={first} uri={pathOf(first.uri)} /> },
    { title: 'Number', isNumber: true, of: ({ requests }) => count(requests.length) },
    { title: 'Mean', isNumber: true, of: ({ requests }) => ms(mean(requests)) },
    { title: 'Longest', isNumber: true, of: ({ requests }) => ms(Math.max(...requests.map(({ duration: time }) => time))) },
    { title: 'Phases', of: ({ requests }) => <PhaseBar phases={phasesOf(requests)} /> },
    { title: 'Most in', of: ({ requests }) => mostIn(phasesOf(requests)) },
    { title: 'Members', of: ({ requests }) => membersOf(requests) },
    { title: 'Last', isNumber: true, of: ({ requests: [first] }) => first && `${duration(now - Date.parse(first.time))} ago` },
  ];
}

/** The member that most of the requests were slow at, and how many others there are. */
function membersOf(requests: readonly SlowRequest[]) {
  const found = Map.groupBy(
    requests.flatMap(({ attempts }) => attempts),
    ({ address, upstream }) => `${address} of ${upstream}`,
  );
  const [[first, attempts] = ['', []]] = [...found].sort(([, one], [, other]) => other.length - one.length);
  if (first === '') return <span class="muted">none</span>;
  return found.size === 1 ? first : `${first} (${count(attempts.length)}), ${count(found.size - 1)} more`;
}

function TargetName({ request: { method, host }, uri }: { readonly request: SlowRequest; readonly uri: string }) {
  return (
    <span class="target">
      <strong>{method}</strong> <span class="muted">{host}</span>
      {uri}
    </span>
  );
}

function Attempts({ attempts }: Pick<SlowRequest, 'attempts'>) {
  if (attempts.length === 0) return <span class="muted">none</span>;
  return (
    <>
      {attempts.map(({ upstream, address, failure }, at) => (
        <span key={at} class="block">
          {address} <span class="muted">of {upstream}</span>
          {failure !== undefined && <span class="warn"> {failure}</span>}
        </span>
      ))}
    </>
  );
}

export function Slow() {
  const statistics = useValue(live.statistics);
  const slow = useValue(live.slow);
  const now = useValue(live.now);
  const members = statistics?.slow ?? [];
  return (
    <>
      <h1 class="hidden">Slow members and requests</h1>
      <Panel title="Slow members" note="time until the first byte, compared over ten seconds">
        {statistics === undefined ? (
          <Missing part="statistics" />
        ) : members.length === 0 ? (
          <p class="empty">No member is three times slower than the others of its upstream, or than it usually is.</p>
        ) : (
          <Table
            label="Slow members"
            rows={members}
            columns={memberColumns(now)}
            id={({ engine, upstream, server }) => JSON.stringify([engine, upstream, server])}
          />
        )}
      </Panel>
      <Panel title="Slow requests" note={slow && noteOf(slow.requests.length, slow.total)}>
        {slow === undefined ? (
          <Missing part="slow" />
        ) : slow.requests.length === 0 ? (
          <p class="empty">
            None was recorded. The directive <code>slow_log 1s;</code> in <code>http</code> records requests that take longer than a second.
          </p>
        ) : (
          <>
            <PhaseSummary requests={slow.requests} />
            <Table
              label="Slow requests by target"
              rows={targetsOf(slow.requests).slice(0, TARGETS)}
              columns={targetColumns(now)}
              id={({ id }) => id}
            />
          </>
        )}
      </Panel>
      {slow !== undefined && slow.requests.length > 0 && (
        <Panel title="One by one" note={`the last ${count(Math.min(LISTED, slow.requests.length))}`}>
          <Table
            label="Slow requests one by one"
            rows={slow.requests.slice(0, LISTED)}
            columns={requestColumns(now)}
            id={({ request_id: id, time }) => `${id} ${time}`}
          />
        </Panel>
      )}
    </>
  );
}

function noteOf(shown: number, total: number): string {
  return shown < total ? `the last ${count(shown)} of ${count(total)}` : count(total);
}
