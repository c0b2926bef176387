import { Channels, type Channel } from '../../core/contract/channels.js';
import { action, moreTime, type ActionContext } from '../../core/contract/control.js';
import type { HttpHandlers, HttpRequest } from '../../core/contract/http.js';
import { LogRecords, type LogRecord } from '../../core/contract/log.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import type { FedEntry, LogLine } from './entry.js';
import type { EntryPage, ReadParams } from './entry-page.js';
import { EntryRing } from './entry-ring.js';
import { EntrySender } from './entry-sender.js';
import { parseFilter, type EntryFilter } from './filter.js';
import { accessEntry, errorEntry } from './read-entry.js';

interface Interest {
  readonly filters: readonly string[];
  readonly until: number;
}

/** Time after which a control plane that does not ask any more is taken for dead, beyond the time that it wanted to wait (ms). */
const PATIENCE = 10_000;
const EXPIRY = 5000;

/**
 * The lines of access and error logs as they are written, for `/v1/logs/stream`. Requests of this server end up there with or without an
 * `access_log`. Without a reader a request costs one comparison.
 */
@httpModule({ name: 'srv_http_live_log_module', api: '1.2', plane: 'data' })
export class LiveLog implements HttpModule {
  readonly #ring = new EntryRing();
  readonly #interests = new Map<string, Interest>();
  readonly #channel: Channel<readonly string[], never, readonly FedEntry[]>;
  readonly #sender: EntrySender;
  /** Filters of all readers; undefined: there is none. */
  #wanted: EntryFilter[] | undefined;
  #unfollow: (() => void) | undefined;

  constructor(
    channels: Channels,
    private readonly records: LogRecords,
    private readonly info: ServerInfo,
    private readonly tasks: Tasks,
  ) {
    this.#channel = channels.open('entries', {
      changed: (filters) => this.#follow(filters),
      told: (entries) => this.#ring.add(entries),
    });
    this.#sender = new EntrySender(tasks, (entries) => this.#channel.tell(entries));
  }

  start(role: string): void {
    if (role === 'worker') this.#follow(this.#channel.value ?? []);
    else this.tasks.every(EXPIRY, () => this.#expire());
  }

  stop(): void {
    this.#unfollow?.();
  }

  compile(): HttpHandlers {
    return { log: this.#log };
  }

  @action('live_log.read')
  async read({ reader, filters, after, limit, wait }: ReadParams, context: ActionContext): Promise<EntryPage> {
    await this.#note(reader, filters, wait);
    // A position of another server, which this one has replaced, may be beyond its own.
    const position = Math.min(after ?? Infinity, this.#ring.end);
    if (wait > 0) {
      await moreTime(context, wait);
      await this.#ring.wait(position, wait);
    }
    return this.#ring.read(position, limit);
  }

  readonly #log = (request: HttpRequest): void => {
    if (this.#wanted === undefined || request.parent !== undefined || !this.#sender.admits()) return;
    this.#offer(accessEntry(request, this.info.worker));
  };

  readonly #logError = (record: LogRecord): void => {
    if (this.info.worker < 0) {
      const entry = errorEntry(record, this.info.worker);
      if (this.#isWanted(entry)) this.#ring.add([entry]);
    } else if (this.#sender.admits()) this.#offer(errorEntry(record, this.info.worker));
  };

  #offer(entry: LogLine): void {
    if (this.#isWanted(entry)) this.#sender.add(entry);
  }

  #isWanted(entry: LogLine): boolean {
    return this.#wanted?.some((wants) => wants(entry)) === true;
  }

  #follow(filters: readonly string[]): void {
    this.#wanted = filters.length === 0 ? undefined : filters.map(parseFilter);
    if (this.#wanted === undefined) {
      this.#unfollow?.();
      this.#unfollow = undefined;
    } else this.#unfollow ??= this.records.follow(this.#logError);
  }

  /** Keeps the filters of a reader until it has had the time to ask again. */
  #note(reader: string, filters: readonly string[], wait: number): Promise<void> {
    if (filters.length === 0) this.#interests.delete(reader);
    else this.#interests.set(reader, { filters, until: Date.now() + wait + PATIENCE });
    return this.#publish();
  }

  #expire(): Promise<void> {
    const now = Date.now();
    for (const [reader, { until }] of this.#interests) if (until < now) this.#interests.delete(reader);
    return this.#publish();
  }

  /** Workers get all filters, where they are other ones. */
  async #publish(): Promise<void> {
    const filters = [...new Set([...this.#interests.values()].flatMap((interest) => interest.filters))].sort();
    const known = this.#channel.value ?? [];
    if (filters.length === known.length && filters.every((filter, at) => filter === known[at])) return;
    this.#follow(filters);
    await this.#channel.publish(filters);
  }
}
