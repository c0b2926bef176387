/** Lines of the access and error logs as they come. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError, follow } from './api.js';
import { bytes, clock, ms } from './format.js';
import { live } from './live.js';

export interface Entry {
  readonly number: number;
  readonly kind: string;
  readonly time: string;
  readonly [field: string]: unknown;
}

export interface Lines {
  /** The newest first. */
  readonly entries: readonly Entry[];
  readonly error: string;
  readonly clear: () => void;
}

/** What comes in this time is drawn together. Milliseconds. */
const TOGETHER = 100;

/** Follows the log as long as it is not paused. @param filters a line has to pass one of them; empty: all do */
export function useLog(filters: readonly string[], kept: number, isPaused = false): Lines {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [error, setError] = useState('');
  const number = useRef(0);
  const wanted = filters.join('\n');
  useEffect(() => {
    if (isPaused) return undefined;
    const stop = new AbortController();
    let waiting: Entry[] = [];
    const timer = setInterval(() => {
      if (waiting.length === 0) return;
      const fresh = waiting.reverse();
      waiting = [];
      setEntries((before) => [...fresh, ...before].slice(0, kept));
    }, TOGETHER);
    setError('');
    for (const filter of wanted.split('\n')) {
      const query = filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`;
      follow(`/logs/stream${query}`, stop.signal, (_, data) => {
        waiting.push({ ...(JSON.parse(data) as Entry), number: ++number.current });
        if (waiting.length > kept) waiting = waiting.slice(-kept);
      }).then(
        () => setError('the connection has ended: open this page again'),
        (failure: unknown) => {
          if (!stop.signal.aborted)
            setError(failure instanceof CallError ? failure.message : 'the connection is lost: open this page again');
        },
      );
    }
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [wanted, kept, isPaused]);
  return { entries, error, clear: () => setEntries([]) };
}

export function LogLines({ entries, label }: { readonly entries: readonly Entry[]; readonly label: string }) {
  return (
    <div class="log" tabIndex={0} role="region" aria-label={label}>
      {entries.map((entry) => (
        <LogLine key={entry.number} entry={entry} />
      ))}
    </div>
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
      <span class={`num ${status >= 500 ? 'bad' : status >= 400 ? 'warn' : ''}`}>{text(entry['status'])}</span>
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
