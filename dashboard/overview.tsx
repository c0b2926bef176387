/** The first ten seconds of an incident: what is wrong, since when, what was changed last. Then the figures. */
import { bytes, clock, count, duration, ms, percent, rate, whole } from './format.js';
import { live } from './live.js';
import { Plot, type Line } from './plot.js';
import { isUsable, problemsOf, Sightings, sinceText } from './problems.js';
import { recent } from './samples.js';
import { Missing, Panel } from './shell.js';
import { Shape, State } from './state-mark.js';
import type { Row, Upstream } from './types.js';
import { useValue } from './value.js';

/** Of all visits to this part of the page. */
const sightings = new Sightings();
const RECENT_CHANGES = 5;
const LISTED = 8;
const REQUESTS: readonly Line[] = [
  { label: 'all', color: 'accent', of: ({ requests }) => requests, fill: true },
  { label: '4xx', color: 'warn', of: ({ rejected }) => rejected },
  { label: '5xx', color: 'bad', of: ({ errors }) => errors },
];
const TIMES: readonly Line[] = [
  { label: 'p99', color: 'accent', of: ({ p99 }) => p99, fill: true },
  { label: 'median', color: 'good', of: ({ p50 }) => p50 },
];
const TRAFFIC: readonly Line[] = [
  { label: 'sent', color: 'accent', of: ({ sent }) => sent, fill: true },
  { label: 'received', color: 'good', of: ({ received }) => received },
];
const CONNECTIONS: readonly Line[] = [{ label: 'active', color: 'accent', of: ({ connections }) => connections, fill: true }];

export function Overview() {
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <div class="first">
        <Problems />
        <LastChanges />
      </div>
      <Figures />
      <div class="halves">
        <Upstreams />
        <Servers />
      </div>
    </>
  );
}

function Problems() {
  const upstreams = useValue(live.upstreams);
  const now = useValue(live.now);
  useValue(live.statistics);
  useValue(live.certificates);
  useValue(live.cluster);
  const problems = sightings.see(problemsOf(live), now);
  const bad = problems.filter(({ level }) => level === 'bad').length;
  const title =
    problems.length === 0
      ? upstreams === undefined
        ? 'Looking …'
        : 'Nothing is wrong'
      : bad > 0
        ? `${count(problems.length)} problems now`
        : `${count(problems.length)} warnings now`;
  return (
    <section class={`panel verdict ${bad > 0 ? 'is-bad' : problems.length > 0 ? 'is-warn' : 'is-good'}`} aria-labelledby="verdict">
      <header>
        <h2 id="verdict">
          <Shape state={bad > 0 ? 'bad' : problems.length > 0 ? 'warn' : 'good'} />
          {problems.length === 1 ? title.replace(/s now$/, ' now') : title}
        </h2>
      </header>
      {problems.length === 0 && <p class="empty">Every member is usable, responses are without 5xx, and no certificate ends soon.</p>}
      <ul class="problems">
        {problems.slice(0, LISTED).map((problem) => (
          <li key={problem.id}>
            <Shape state={problem.level} />
            <a href={problem.link}>{problem.what}</a>
            <span class="why">{problem.why}</span>
            <span class="since num">{sinceText(problem, now)}</span>
          </li>
        ))}
      </ul>
      {problems.length > LISTED && <p class="more">and {problems.length - LISTED} more</p>}
    </section>
  );
}

function LastChanges() {
  const changes = useValue(live.changes);
  const drift = useValue(live.drift);
  const now = useValue(live.now);
  return (
    <Panel title="Changed last" actions={<a href="#/changes">All changes</a>}>
      {changes === undefined ? (
        <Missing part="changes" />
      ) : changes.length === 0 ? (
        <p class="empty">Nothing was changed through the API.</p>
      ) : (
        <ul class="changes">
          {changes.slice(0, RECENT_CHANGES).map(({ version, at, actor, message, changes: parts }) => (
            <li key={version}>
              <a href={`#/changes/${version}`}>{message === '' ? (parts[0]?.place ?? `version ${version}`) : message}</a>
              <span class="muted">
                {actor}
                {parts.length > 1 && `, ${count(parts.length)} directives`}
              </span>
              <time class="since num" dateTime={at} title={clock(at, now)}>
                {duration(now - Date.parse(at))} ago
              </time>
            </li>
          ))}
        </ul>
      )}
      {drift !== undefined && drift.length > 0 && (
        <p class="more">
          <a href="#/changes">The files differ from the running configuration</a>
        </p>
      )}
    </Panel>
  );
}

function Figures() {
  const { samples } = useValue(live.series);
  const statistics = useValue(live.statistics);
  const missing = useValue(live.missing);
  const last = samples.at(-1);
  const requests = recent(samples, 'requests') ?? 0;
  const errors = recent(samples, 'errors') ?? 0;
  const total = live.series.current.totals?.requests;
  if (statistics === undefined && missing.has('statistics')) return <Missing part="statistics" />;
  return (
    <div class="plots">
      <Plot
        title="Requests a second"
        value={rate(last?.requests)}
        detail={`${percent(errors, requests)} are 5xx, ${count(total)} in all`}
        lines={REQUESTS}
        samples={samples}
        format={rate}
      />
      <Plot
        title="Response time, p99"
        value={ms(last?.p99)}
        detail={slowest(statistics?.servers)}
        lines={TIMES}
        samples={samples}
        format={ms}
      />
      <Plot
        title="Bytes a second"
        value={bytes(last?.sent)}
        detail={`${bytes(last?.received)} received`}
        lines={TRAFFIC}
        samples={samples}
        format={bytes}
      />
      <Plot
        title="Connections"
        value={count(last?.connections)}
        detail={`${count(statistics?.connections['accepted'])} accepted`}
        lines={CONNECTIONS}
        samples={samples}
        format={whole}
      />
    </div>
  );
}

/** The server with the highest p99 of those that have requests. */
function slowest(servers: Readonly<Record<string, Row>> | undefined): string {
  const rows = Object.entries(servers ?? {}).filter(([, { times }]) => times.count > 0);
  const [name, row] = rows.sort(([, one], [, other]) => other.times.p99 - one.times.p99)[0] ?? [];
  return row === undefined ? 'mean of the last second' : `mean; highest p99: ${ms(row.times.p99)} at ${name}`;
}

function usableShare({ peers }: Upstream): number {
  return peers.length === 0 ? 0 : peers.filter(isUsable).length / peers.length;
}

function Upstreams() {
  const upstreams = useValue(live.upstreams);
  const shown = upstreams?.toSorted((one, other) => usableShare(one) - usableShare(other)).slice(0, LISTED);
  return (
    <Panel title="Upstreams" note={upstreams && count(upstreams.length)} actions={<a href="#/upstreams">All upstreams</a>}>
      {shown === undefined ? (
        <Missing part="upstreams" />
      ) : shown.length === 0 ? (
        <p class="empty">No upstream has a zone: those with one are shown here.</p>
      ) : (
        <div class="scroll" tabIndex={0} role="region" aria-label="Upstreams">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">State</th>
                <th scope="col" class="num">
                  Usable
                </th>
                <th scope="col" class="num">
                  Active
                </th>
                <th scope="col" class="num">
                  Requests
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((upstream) => (
                <UpstreamLine key={`${upstream.engine} ${upstream.name}`} upstream={upstream} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}

function UpstreamLine({ upstream }: { readonly upstream: Upstream }) {
  const { engine, name, peers } = upstream;
  const usable = peers.filter(isUsable).length;
  const state = usable === peers.length ? 'up' : usable === 0 ? 'bad' : 'warn';
  return (
    <tr>
      <th scope="row">
        <a href={`#/upstreams/${engine}/${encodeURIComponent(name)}`}>{name}</a>
        {engine === 'stream' && <span class="tag">stream</span>}
      </th>
      <td>
        <State state={state} word={usable === peers.length ? 'up' : usable === 0 ? 'down' : 'reduced'} />
      </td>
      <td class="num">
        {count(usable)} of {count(peers.length)}
      </td>
      <td class="num">{count(peers.reduce((sum, { active }) => sum + active, 0))}</td>
      <td class="num">{count(peers.reduce((sum, { requests = 0, connections = 0 }) => sum + requests + connections, 0))}</td>
    </tr>
  );
}

function Servers() {
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
        <div class="scroll" tabIndex={0} role="region" aria-label="Servers">
          <table>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" class="num">
                  Requests/s
                </th>
                <th scope="col" class="num">
                  5xx/s
                </th>
                <th scope="col" class="num">
                  p50
                </th>
                <th scope="col" class="num">
                  p99
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, LISTED).map(([name, { rates, times }]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="num">{rate(rates.requests['10s'])}</td>
                  <td class={rates.errors['10s'] > 0 ? 'num bad' : 'num'}>{rate(rates.errors['10s'])}</td>
                  <td class="num">{ms(times.p50)}</td>
                  <td class="num">{ms(times.p99)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Panel>
  );
}
