/** State of the server as the page has it: reads of the API, repeated, and events. */
import { get, pages } from './api.js';
import { CallError, UNREACHABLE, type StreamEvent, type StreamReader } from './event-stream.js';
import { follow, type FollowOptions } from './follow.js';
import { addHistory, addSample, type Sample, type Series } from './samples.js';
import type { Cache, Certificate, Change, Cluster, Engine, ServerEvent, Session, SlowRequests, Statistics, Upstream } from './types.js';
import { Value } from './value.js';
import { visible, waited } from './waits.js';

/** Upstreams of one page of the list: reading it takes a few milliseconds of a frame. */
const PAGE = 50;
/** A part that takes long is read less often: the page uses at most this part of the time of the server. */
const SHARE = 8;
const EVENTS = 200;
const SLOW_REQUESTS = 200;
/** No event has this id: the server sends all that it keeps. */
const FROM_THE_START = '0';
/** Time without statistics after which figures are marked as old. */
export const OLD_MS = 5_000;

export type Phase = 'starting' | 'locked' | 'open';

export interface Connection {
  /** Why there is none; empty: there is one. */
  readonly reason: string;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** Why a member has its state, by an event. */
export interface Reason {
  readonly reason: string;
  readonly time: string;
}

export class Live {
  readonly phase = new Value<Phase>('starting');
  /** Why a token is wanted. */
  readonly rejection = new Value('');
  readonly session = new Value<Session | undefined>(undefined);
  readonly connection = new Value<Connection>({ reason: '', since: 0 });
  readonly statistics = new Value<Statistics | undefined>(undefined);
  readonly series = new Value<Series>({ samples: [] });
  readonly upstreams = new Value<readonly Upstream[] | undefined>(undefined);
  readonly changes = new Value<readonly Change[] | undefined>(undefined);
  readonly events = new Value<readonly ServerEvent[]>([]);
  readonly drift = new Value<readonly string[] | undefined>(undefined);
  readonly certificates = new Value<readonly Certificate[] | undefined>(undefined);
  readonly cluster = new Value<Cluster | undefined>(undefined);
  readonly caches = new Value<readonly Cache[] | undefined>(undefined);
  readonly slow = new Value<SlowRequests | undefined>(undefined);
  /** Parts that this server or this token does not have, with the reason. */
  readonly missing = new Value<ReadonlyMap<string, string>>(new Map());
  /** Grows with each change that this page makes. */
  readonly changed = new Value(0);
  /** Milliseconds by the clock of the server. */
  readonly now = new Value(Date.now());
  readonly reasons = new Map<string, Reason>();
  readonly #wakers = new Map<string, () => void>();
  #offset = 0;
  /** Epoch milliseconds. */
  #opened = 0;
  #stop = new AbortController();

  /** Begins, again with another token. */
  async start(): Promise<void> {
    this.#stop.abort();
    this.#stop = new AbortController();
    const { signal } = this.#stop;
    try {
      this.session.set(await get<Session>('/dashboard'));
    } catch (error) {
      return this.#failedStart(error, signal);
    }
    this.missing.set(new Map());
    this.#opened = Date.now();
    this.phase.set('open');
    void this.#followStatistics(signal);
    this.#loop('upstreams', 2000, signal, () => this.#readUpstreams());
    this.#loop('slow', 3000, signal, async () => this.slow.set(await get<SlowRequests>(`/slow_log?limit=${SLOW_REQUESTS}`)));
    this.#loop('changes', 15_000, signal, async () => this.changes.set(await get<readonly Change[]>('/history?limit=50')));
    this.#loop('drift', 15_000, signal, async () => this.drift.set((await get<{ diff: readonly string[] }>('/config/drift')).diff));
    this.#loop('certificates', 60_000, signal, async () => this.certificates.set(certificatesOf(await get<unknown>('/ssl'))));
    this.#loop('cluster', 5000, signal, async () => this.cluster.set(await get<Cluster>('/cluster')));
    this.#loop('caches', 5000, signal, async () => this.caches.set(await get<readonly Cache[]>('/cache')));
    this.#loop('history', 60_000, signal, async () => this.#remember(await get<readonly Sample[]>('/vts/history')));
    void this.#follow(signal);
    const timer = setInterval(() => this.now.set(Date.now() + this.#offset), 1000);
    signal.addEventListener('abort', () => clearInterval(timer));
  }

  /** Reads parts at once, after a change. */
  refresh(...parts: readonly string[]): void {
    for (const part of parts) this.#wakers.get(part)?.();
  }

  /** An event about a member, by which its state has a reason. */
  reasonOf(engine: Engine, upstream: string, server: string): Reason | undefined {
    return this.reasons.get(JSON.stringify([engine, upstream, server]));
  }

  #failedStart(error: unknown, signal: AbortSignal): void {
    const failure = error instanceof CallError ? error : new CallError(0, 'Unreachable', String(error));
    if (failure.status === 401 || failure.status === 403 || failure.status === 429) {
      this.rejection.set(failure.message);
      this.phase.set('locked');
      return;
    }
    this.connection.set({ reason: failure.message, since: Date.now() });
    void waited(2000, signal).then(() => (signal.aborted ? undefined : this.start()));
  }

  #loop(part: string, every: number, signal: AbortSignal, read: () => Promise<void>): void {
    const run = async (): Promise<void> => {
      while (!signal.aborted) {
        const began = performance.now();
        await this.#step(part, read);
        const wait = Math.max(every - (performance.now() - began), (performance.now() - began) * (SHARE - 1), 50);
        await new Promise<void>((resolve) => {
          this.#wakers.set(part, resolve);
          void waited(wait, signal).then(resolve);
        });
        if (document.hidden) await visible(signal);
      }
    };
    void run();
  }

  async #step(part: string, read: () => Promise<void>): Promise<void> {
    try {
      await read();
      this.#succeeded(part);
    } catch (error) {
      this.#failed(part, error instanceof CallError ? error : new CallError(0, 'Error', String(error)));
    }
  }

  #succeeded(part: string): void {
    if (this.missing.current.has(part)) this.missing.set(new Map([...this.missing.current].filter(([name]) => name !== part)));
    if (this.connection.current.reason !== '') this.connection.set({ reason: '', since: Date.now() });
  }

  #failed(part: string, { status, message }: CallError): void {
    if (status === 401) {
      this.#stop.abort();
      this.rejection.set(message);
      this.phase.set('locked');
    } else if (status === 0 || status >= 502) {
      if (this.connection.current.reason === '') this.connection.set({ reason: message, since: Date.now() });
    } else {
      this.missing.set(new Map([...this.missing.current, [part, message]]));
    }
  }

  /** One event a second, as long as somebody can see the page. */
  async #followStatistics(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#whileVisible('/vts/stream?group=servers', { signal, kept: 1 }, ({ data }) => {
        this.#counted(JSON.parse(data) as Statistics);
        this.#succeeded('statistics');
      }).catch((error: unknown) => this.#failed('statistics', error as CallError));
      await waited(1000, signal);
      this.refresh('history');
    }
  }

  #remember(points: readonly Sample[]): void {
    this.series.set(addHistory(this.series.current, points));
  }

  #counted(found: Statistics): void {
    this.#offset = found.now - Date.now();
    this.series.set(addSample(this.series.current, found));
    this.statistics.set(found);
  }

  async #readUpstreams(): Promise<void> {
    const found: Upstream[] = [];
    for (const engine of ['http', 'stream'] as const) {
      const list = await pages<Omit<Upstream, 'engine'>>(`/upstream_api/${engine}/upstreams`, PAGE, breath).catch((error: unknown) => {
        if (engine === 'stream' && error instanceof CallError && error.status !== 0) return [];
        throw error;
      });
      for (const upstream of list) found.push({ ...upstream, engine });
    }
    this.upstreams.set(found);
  }

  /** First the events that the server keeps, then those that come. */
  async #follow(signal: AbortSignal): Promise<void> {
    let last = FROM_THE_START;
    while (!signal.aborted) {
      await this.#whileVisible('/events', { signal, kept: EVENTS, after: last }, ({ data, id }) => {
        const event = JSON.parse(data) as ServerEvent;
        if (event.type !== 'gap' || last !== FROM_THE_START) this.#happened(event);
        if (id !== '') last = id;
      }).catch((error: unknown) => {
        if (error instanceof CallError && error.status < 500) this.#failed('events', error);
      });
      await waited(2000, signal);
    }
  }

  /** Follows a stream until it ends, or the page is hidden: browsers allow few connections to a server, for all of their tabs. */
  async #whileVisible(
    path: string,
    options: Omit<FollowOptions, keyof StreamReader>,
    onEvent: (event: StreamEvent) => void,
  ): Promise<void> {
    const { signal } = options;
    if (document.hidden) await visible(signal);
    const hidden = new AbortController();
    const leave = (): void => (document.hidden ? hidden.abort() : undefined);
    document.addEventListener('visibilitychange', leave);
    try {
      await follow(path, { ...options, signal: AbortSignal.any([signal, hidden.signal]), onOpen: () => undefined, onEvent });
    } catch (error) {
      if (!signal.aborted && !hidden.signal.aborted) throw error instanceof CallError ? error : UNREACHABLE;
    } finally {
      document.removeEventListener('visibilitychange', leave);
    }
  }

  #happened(event: ServerEvent): void {
    this.events.set([event, ...this.events.current].slice(0, EVENTS));
    const { upstream, server, reason, engine } = event.data;
    if (event.type === 'member.state' && typeof reason === 'string')
      this.reasons.set(JSON.stringify([engine === 'stream' ? 'stream' : 'http', upstream, server]), { reason, time: event.time });
    // What the server has kept was read with everything else.
    if (Date.parse(event.time) < this.#opened) return;
    if (event.type.startsWith('member.')) this.refresh('upstreams');
    if (event.type === 'config.changed') this.refresh('changes', 'drift', 'upstreams', 'caches');
    if (event.type === 'certificate.expiring') this.refresh('certificates');
  }
}

/** Each certificate once, whatever the number of servers that use it. */
function certificatesOf(servers: unknown): readonly Certificate[] {
  const found = new Map<string, Certificate>();
  const search = (value: unknown): void => {
    if (Array.isArray(value)) for (const entry of value) search(entry);
    else if (typeof value === 'object' && value !== null) {
      if ('not_after' in value && 'fingerprint' in value) found.set((value as Certificate).fingerprint, value as Certificate);
      for (const part of Object.values(value)) if (typeof part === 'object') search(part);
    }
  };
  search(servers);
  return [...found.values()].sort((one, other) => one.days_left - other.days_left);
}

/** Between two pages: the browser draws. */
function breath(): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, 4));
}

export const live = new Live();
