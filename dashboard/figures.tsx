/** Figures of all servers, and their plots. */
import { useMemo, useState } from 'preact/hooks';
import { bytes, count, ms, percent, rate, scale, whole } from './format.js';
import { live } from './live.js';
import { Plot, type Line } from './plot.js';
import { recent } from './samples.js';
import { Missing } from './shell.js';
import type { Times } from './types.js';
import { useValue } from './value.js';

/** What plots show, in seconds. */
const SPANS: readonly (readonly [seconds: number, text: string])[] = [
  [300, '5 min'],
  [3600, '1 h'],
];
const REQUESTS: readonly Line[] = [
  { label: 'all', color: 'accent', of: ({ requests }) => requests, fill: true },
  { label: '4xx', color: 'warn', of: ({ rejected }) => rejected },
  { label: '5xx', color: 'bad', of: ({ errors }) => errors },
];
const TIMES: readonly Line[] = [
  { label: 'p99', color: 'accent', of: ({ p99 }) => p99, fill: true },
  { label: 'p50', color: 'muted', of: ({ p50 }) => p50 },
];
const TRAFFIC: readonly Line[] = [
  { label: 'sent', color: 'accent', of: ({ sent }) => sent, fill: true },
  { label: 'received', color: 'muted', of: ({ received }) => received },
];
const CONNECTIONS: readonly Line[] = [{ label: 'active', color: 'accent', of: ({ connections }) => connections, fill: true }];

export function Figures() {
  const { samples } = useValue(live.series);
  const statistics = useValue(live.statistics);
  const missing = useValue(live.missing);
  const changes = useValue(live.changes);
  const [span, setSpan] = useState(SPANS[0]![0]);
  const last = samples.at(-1);
  const plot = { samples, span, marks: useMemo(() => changes?.map(({ at }) => Date.parse(at)) ?? [], [changes]) };
  const requests = recent(samples, 'requests') ?? 0;
  const errors = recent(samples, 'errors') ?? 0;
  const rejected = recent(samples, 'rejected') ?? 0;
  const total = live.series.current.totals?.requests;
  const isUncounted = Object.keys(statistics?.servers ?? {}).length === 0;
  if (statistics === undefined && missing.has('statistics')) return <Missing part="statistics" />;
  return (
    <section class="figures" aria-labelledby="figures">
      <header>
        <h2 id="figures">Figures</h2>
        <div class="spans" role="group" aria-label="Time that the plots show">
          {SPANS.map(([seconds, text]) => (
            <button key={seconds} type="button" class="small" aria-pressed={seconds === span} onClick={() => setSpan(seconds)}>
              {text}
            </button>
          ))}
        </div>
      </header>
      {statistics !== undefined && isUncounted && (
        <p class="hint">
          No server is counted: <code>vhost_traffic_status_zone;</code> in <code>http</code> counts requests, errors, times and bytes.
        </p>
      )}
      <div class="plots">
        <Plot
          title="Requests a second"
          value={rate(last?.requests)}
          detail={`${shares(requests, errors, rejected)}; ${count(total)} in all`}
          {...plot}
          lines={REQUESTS}
          format={scale}
          least={10}
        />
        <Plot
          title="Response time, p99"
          value={ms(last?.p99)}
          detail={quantiles(statistics?.recent)}
          {...plot}
          lines={TIMES}
          format={ms}
          least={10}
        />
        <Plot
          title="Bytes a second"
          value={bytes(last?.sent)}
          detail={`sent; ${bytes(last?.received)} received`}
          {...plot}
          lines={TRAFFIC}
          format={bytes}
          least={1000}
        />
        <Plot
          title="Connections"
          value={count(last?.connections)}
          detail={`${count(statistics?.connections['accepted'])} accepted`}
          {...plot}
          lines={CONNECTIONS}
          format={whole}
          least={10}
        />
      </div>
    </section>
  );
}

function shares(requests: number, errors: number, rejected: number): string {
  return requests === 0 ? 'none now' : `${percent(errors, requests)} 5xx, ${percent(rejected, requests)} 4xx`;
}

function quantiles(times: Times | undefined): string {
  if (times === undefined || times.count === 0) return 'no request in the last 10 seconds';
  return `p50 ${ms(times.p50)}, p90 ${ms(times.p90)}, p99.9 ${ms(times.p999)}`;
}
