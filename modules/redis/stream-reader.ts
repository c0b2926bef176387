import type { RedisEntry } from '../../core/contract/redis.js';
import { RedisLink } from './redis-link.js';
import type { RedisSettings } from './redis-settings.js';

const BLOCK_MS = 2000;
const MOST_ENTRIES = 500;

/** `[[stream, [[id, [field, value, …]], …]]]`; null: there is nothing new. */
type Reply = readonly (readonly [string, readonly (readonly [string, readonly string[]])[]])[] | null;

/** Reads one stream over a connection of its own: XREAD blocks it. */
export class StreamReader {
  #link: RedisLink | undefined;

  constructor(
    private readonly stream: string,
    private readonly position: () => string,
    private readonly read: (entries: readonly RedisEntry[]) => void,
  ) {}

  open(settings: RedisSettings): void {
    this.close();
    const link: RedisLink = new RedisLink(settings, {
      blocks: true,
      ready: () => void this.#follow(link, settings.commandTimeout),
      away: () => undefined,
    });
    this.#link = link;
    link.open();
  }

  close(): void {
    this.#link?.close();
    this.#link = undefined;
  }

  async #follow(link: RedisLink, timeout: number): Promise<void> {
    let last = this.position();
    while (link === this.#link) {
      const timer = setTimeout(() => link.reset('no reply'), BLOCK_MS + timeout).unref();
      try {
        const args = ['COUNT', MOST_ENTRIES, 'BLOCK', BLOCK_MS, 'STREAMS', this.stream, last];
        const reply = (await link.call('XREAD', args)) as Reply;
        const entries = (reply?.[0]?.[1] ?? []).map(([id, fields]) => ({ id, fields }));
        last = entries.at(-1)?.id ?? last;
        if (entries.length > 0 && link === this.#link) this.read(entries);
      } catch (error) {
        // A stream that is gone, or a right that is missing: the connection for commands reports the reason.
        if (link.isReady) link.reset((error as Error).message);
        return;
      } finally {
        clearTimeout(timer);
      }
    }
  }
}
