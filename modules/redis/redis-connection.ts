import {
  RedisFailure,
  type RedisArgument,
  type RedisConnection,
  type RedisEntry,
  type RedisEntryMark,
  type RedisScript,
  type RedisStatus,
} from '../../core/contract/redis.js';
import { RedisLink, type LinkFacts } from './redis-link.js';
import type { RedisSettings } from './redis-settings.js';
import { StreamReader } from './stream-reader.js';

const MEASURE_MS = 1000;

/** The connections of one `redis` block. It outlives its settings: a reload opens it with others. */
export class BlockConnection implements RedisConnection {
  #settings: RedisSettings | undefined;
  #cluster = '';
  #link: RedisLink | undefined;
  /** Waits for replicas, made at its first use. */
  #waiting: RedisLink | undefined;
  readonly #readers = new Set<StreamReader>();
  readonly #watchers = new Set<(status: RedisStatus) => void>();
  #pending = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #attempted = Promise.withResolvers<void>();
  #status: RedisStatus = { state: 'away', reason: 'not connected yet', since: Date.now(), latency: undefined, clockOffset: 0 };

  constructor(readonly name: string) {}

  get keys(): string {
    return `{${this.#settings?.prefix ?? 'srv'}:${this.#cluster}}:`;
  }

  get timeout(): number {
    return this.#settings?.commandTimeout ?? 0;
  }

  get status(): RedisStatus {
    return this.#status;
  }

  get attempted(): Promise<void> {
    return this.#attempted.promise;
  }

  /** Connects, or connects again with other settings. */
  open(settings: RedisSettings, cluster: string): void {
    this.close('the settings have changed');
    this.#settings = settings;
    this.#cluster = cluster;
    const link = new RedisLink(settings, {
      blocks: false,
      ready: (facts) => this.#ready(facts),
      away: (reason) => this.#away(reason),
    });
    this.#link = link;
    link.open();
    for (const reader of this.#readers) reader.open(settings);
    this.#timer = setInterval(() => void this.#measure(), MEASURE_MS).unref();
  }

  close(reason: string): void {
    clearInterval(this.#timer);
    const isOpen = this.#link !== undefined;
    for (const link of [this.#link, this.#waiting]) link?.close();
    for (const reader of this.#readers) reader.close();
    this.#link = this.#waiting = undefined;
    if (isOpen) this.#away(reason);
  }

  command(name: string, ...args: readonly RedisArgument[]): Promise<unknown> {
    return this.#counted(() => this.#ask(this.#link, name, args));
  }

  script({ hash, text }: RedisScript, keys: readonly string[], args: readonly RedisArgument[]): Promise<unknown> {
    const rest = [keys.length, ...keys, ...args];
    return this.#counted(async () => {
      try {
        return await this.#ask(this.#link, 'EVALSHA', [hash, ...rest]);
      } catch (error) {
        if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
        return this.#ask(this.#link, 'EVAL', [text, ...rest]);
      }
    });
  }

  async replicated(replicas: number, timeout: number, entry?: RedisEntryMark): Promise<number> {
    if (this.#settings === undefined) throw this.#isAway();
    if (this.#waiting === undefined) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting = new RedisLink(this.#settings, { blocks: true, ready: () => resolve(), away: () => resolve() });
      this.#waiting.open();
      await promise;
    }
    const link = this.#waiting;
    // WAIT is about the writes of its own connection: this one is later than all that are to be waited for.
    const written = this.#ask(link, 'SET', [`${this.keys}wait`, '1', 'PX', '1000']);
    const found =
      entry === undefined ? true : this.#ask(link, 'XRANGE', [entry.stream, entry.id, entry.id]).then((reply) => isIn(reply, entry));
    const [, isThere, count] = await Promise.all([
      written,
      found,
      limited(this.#ask(link, 'WAIT', [replicas, timeout]), link, timeout + this.#settings.commandTimeout),
    ]);
    return isThere ? Number(count) : 0;
  }

  follow(stream: string, position: () => string, read: (entries: readonly RedisEntry[]) => void): () => void {
    const reader = new StreamReader(stream, position, read);
    this.#readers.add(reader);
    if (this.#settings !== undefined && this.#link !== undefined) reader.open(this.#settings);
    return () => {
      this.#readers.delete(reader);
      reader.close();
    };
  }

  watch(changed: (status: RedisStatus) => void): () => void {
    this.#watchers.add(changed);
    return () => void this.#watchers.delete(changed);
  }

  async #counted<T>(send: () => Promise<T>): Promise<T> {
    const most = this.#settings?.maxPending ?? 0;
    if (this.#link !== undefined && this.#pending >= most) throw new RedisFailure('busy', `${most} commands wait for Redis (max_pending)`);
    this.#pending++;
    try {
      return await send();
    } finally {
      this.#pending--;
    }
  }

  #ask(link: RedisLink | undefined, name: string, args: readonly RedisArgument[]): Promise<unknown> {
    return link?.call(name, args) ?? Promise.reject(this.#isAway());
  }

  #isAway(): RedisFailure {
    return new RedisFailure('away', this.#status.reason ?? 'not connected yet');
  }

  async #measure(): Promise<void> {
    const link = this.#link;
    if (link?.isReady !== true) return;
    const facts = await link.measure().catch(() => undefined);
    if (facts !== undefined && this.#status.state === 'ready') this.#status = { ...this.#status, ...facts };
  }

  #ready(facts: LinkFacts): void {
    this.#become({ state: 'ready', reason: undefined, since: Date.now(), ...facts });
  }

  #away(reason: string): void {
    const { state, since, clockOffset } = this.#status;
    this.#become({ state: 'away', reason, since: state === 'away' ? since : Date.now(), latency: undefined, clockOffset });
  }

  #become(next: RedisStatus): void {
    const { state, reason } = this.#status;
    this.#status = next;
    this.#attempted.resolve();
    if (next.state === state && next.reason === reason) return;
    for (const changed of this.#watchers) changed(next);
  }
}

function isIn(reply: unknown, { field, value }: RedisEntryMark): boolean {
  const [found] = reply as readonly (readonly [id: string, fields: readonly string[]])[];
  const fields = found?.[1] ?? [];
  return fields.some((name, at) => at % 2 === 0 && name === field && fields[at + 1] === value);
}

/** A blocking command has no time limit of the client. */
async function limited<T>(reply: Promise<T>, link: RedisLink, ms: number): Promise<T> {
  const timer = setTimeout(() => link.reset(`no reply within ${ms} ms`), ms);
  try {
    return await reply;
  } finally {
    clearTimeout(timer);
  }
}
