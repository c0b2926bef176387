/** Lines of the access and error logs as they come. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { CallError, UNREACHABLE } from './event-stream.js';
import { follow } from './follow.js';
import { bytes, clock, ms } from './format.js';
import { live } from './live.js';
import { waited } from './waits.js';

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
  /** The lines of all filters come. */
  readonly isOpen: boolean;
  readonly clear: () => void;
}

/** What comes in this time is drawn together. Milliseconds. */
const TOGETHER = 100;
/** Before a stream that has ended is followed again. Milliseconds. */
const AGAIN = 2000;
/** Too many streams: others may end. */
const TOO_MANY = 429;

/** Follows the log as long as it is not paused. @param filters a line has to pass one of them; empty: all do */
export function useLog(filters: readonly string[], kept: number, isPaused = false): Lines {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [error, setError] = useState('');
  const [isOpen, setOpen] = useState(false);
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
    setOpen(false);
    const tell = (failure: string): void => {
      setError(failure);
      setOpen(failure === '');
    };
    const add = (data: string): void => {
      waiting.push({ ...(JSON.parse(data) as Entry), number: ++number.current });
      if (waiting.length > kept) waiting = waiting.slice(-kept);
    };
    for (const filter of wanted.split('\n')) void followLog(filter, stop.signal, add, tell);
    return () => {
      stop.abort();
      clearInterval(timer);
    };
  }, [wanted, kept, isPaused]);
  return { entries, error, isOpen, clear: () => setEntries([]) };
}

/** Follows the lines of a filter, again when the stream has ended. */
async function followLog(
  filter: string,
  signal: AbortSignal,
  onLine: (data: string) => void,
  onState: (error: string) => void,
): Promise<void> {
  const query = filter === '' ? '' : `?filter=${encodeURIComponent(filter)}`;
  while (!signal.aborted) {
    try {
      await follow(`/logs/stream${query}`, { signal, kept: 0, onOpen: () => onState(''), onEvent: ({ data }) => onLine(data) });
    } catch (error) {
      const { status, message } = error instanceof CallError ? error : UNREACHABLE;
      onState(message);
      // What the caller has to change: the filter, or the token.
      if (status >= 400 && status < 500 && status !== TOO_MANY) return;
    }
    await waited(AGAIN, signal);
  }
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
