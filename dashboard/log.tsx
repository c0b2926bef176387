/** The live log: requests and lines of the error log as they come. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError, follow } from './api.js';
import { bytes, clock, ms } from './format.js';
import { live } from './live.js';

const KEPT = 300;
const EXAMPLES = ['status>=500', 'time>1s', 'kind=error'];

interface Entry {
  readonly number: number;
  readonly kind: string;
  readonly time: string;
  readonly [field: string]: unknown;
}

export function LiveLog() {
  const [text, setText] = useState('');
  const [filter, setFilter] = useState('');
  const [isPaused, setPaused] = useState(false);
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [error, setError] = useState('');
  const number = useRef(0);
  useEffect(() => {
    if (isPaused) return undefined;
    const stop = new AbortController();
    let waiting: Entry[] = [];
    // What comes in a tenth of a second is drawn together.
    const timer = setInterval(() => {
      if (waiting.length === 0) return;
      const fresh = waiting.reverse();
      waiting = [];
      setEntries((before) => [...fresh, ...before].slice(0, KEPT));
    }, 100);
    setError('');
    follow(`/logs/stream${filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`}`, stop.signal, (_, data) => {
      waiting.push({ ...(JSON.parse(data) as Entry), number: ++number.current });
      if (waiting.length > KEPT) waiting = waiting.slice(-KEPT);
    }).catch((failure: unknown) => {
      if (!stop.signal.aborted) setError(failure instanceof CallError ? failure.message : String(failure));
    });
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [filter, isPaused]);
  const choose = (wanted: string): void => {
    setText(wanted);
    setFilter(wanted);
    setEntries([]);
  };
  return (
    <section class="panel full">
      <header>
        <h1>Live log</h1>
        <span class="muted">{isPaused ? 'paused' : `the last ${KEPT} lines`}</span>
        <div class="actions">
          <form class="together" onSubmit={(event) => (event.preventDefault(), choose(text))}>
            <label class="field wide-field">
              <span class="hidden">Filter of the log</span>
              <input
                type="search"
                id="log-filter"
                placeholder="status>=500 server=shop.example"
                value={text}
                onInput={(event) => setText(event.currentTarget.value)}
              />
            </label>
            <button type="submit">Filter</button>
          </form>
          {EXAMPLES.map((example) => (
            <button key={example} type="button" class="small quiet mono" onClick={() => choose(example)}>
              {example}
            </button>
          ))}
          <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
            {isPaused ? 'Continue' : 'Pause'}
          </button>
        </div>
      </header>
      {error !== '' && <p class="empty">Not available: {error}</p>}
      {error === '' && entries.length === 0 && <p class="empty">Waiting for the first line …</p>}
      <div class="log" tabIndex={0} role="region" aria-label="Lines of the log, the newest first">
        {entries.map((entry) => (
          <LogLine key={entry.number} entry={entry} />
        ))}
      </div>
    </section>
  );
}

function text(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function LogLine({ entry }: { readonly entry: Entry }) {
  const time = clock(entry.time, live.now.current);
  if (entry.kind !== 'access') {
    const tone = /^(?:emerg|alert|crit|error)$/.test(text(entry['level'])) ? 'bad' : 'warn';
    return (
      <p class="line">
        <span class="num muted">{time}</span> <span class={tone}>{text(entry['level']) || entry.kind}</span>{' '}
        {text(entry['message']) || `${text(entry['count'])} lines are missing: ${text(entry['reason'])}`}
      </p>
    );
  }
  const status = Number(entry['status']);
  return (
    <p class="line request">
      <span class="num muted">{time}</span>
      <span class={`num ${status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'}`}>{text(entry['status'])}</span>
      <strong>{text(entry['method'])}</strong>
      <span class="l-target">
        <span class="muted">{text(entry['host'])}</span>
        {text(entry['uri'])}
      </span>
      <span class="num muted l-number">{ms(Number(entry['duration']) * 1000)}</span>
      <span class="num muted l-number">{bytes(Number(entry['bytes']))}</span>
      <span class="muted l-address">{text(entry['client'])}</span>
      <span class="muted l-address">{text(entry['upstream'])}</span>
    </p>
  );
}
