import type { AddressRecord, FindOptions, Resolution, ServiceRecord } from '../../core/net/dns/resolution.js';
import { NameResolver } from '../../core/net/dns/resolution.js';
import type { ResolveErrorCode } from '../../core/net/dns/resolve-error.js';
import { Discovery } from '../../core/upstream/discovery/discovery.js';
import type { ScheduledLookup } from '../../core/upstream/discovery/watched-name.js';

/** What a name server says of a name: addresses, or why there are none. */
export type Reply = readonly string[] | ResolveErrorCode;

interface Due {
  readonly at: number;
  readonly work: () => void;
}

/** Names that a test gives addresses to, and a clock that it moves. */
export class FakeNames extends NameResolver {
  readonly discovery = new Discovery({
    log: { write: (_level, text) => void this.log.push(text) },
    resolver: () => this,
    now: () => this.now,
    random: () => 0,
    schedule: (ms, work) => this.#schedule(ms, work),
  });
  readonly log: string[] = [];
  /** Names in the order they were asked for. */
  readonly asked: string[] = [];
  now = 0;
  /** Seconds. */
  ttl = 1;
  readonly #replies = new Map<string, Resolution<AddressRecord>>();
  readonly #services = new Map<string, Resolution<ServiceRecord>>();
  #due: Due[] = [];

  /** From now on. @param families those that the addresses are all of */
  set(name: string, reply: Reply, families: readonly (4 | 6)[] = [4, 6]): void {
    const records =
      typeof reply === 'string' ? [] : reply.map((address) => ({ address, family: address.includes(':') ? (6 as const) : (4 as const) }));
    const isPart = families.length < 2 && records.length > 0;
    const error = typeof reply === 'string' ? reply : isPart ? ('servfail' as const) : undefined;
    this.#replies.set(name, { name, records, error, families, ttl: this.ttl });
  }

  service(name: string, reply: readonly ServiceRecord[] | ResolveErrorCode): void {
    const isError = typeof reply === 'string';
    this.#services.set(name, { name, records: isError ? [] : reply, error: isError ? reply : undefined, families: [], ttl: this.ttl });
  }

  /** What is said of a name now. */
  reply(name: string): Reply {
    const { error, records } = this.#replies.get(name)!;
    return error ?? records.map(({ address }) => address);
  }

  async addresses(name: string, _options?: FindOptions): Promise<Resolution<AddressRecord>> {
    this.asked.push(name);
    await Promise.resolve();
    return this.#replies.get(name) ?? { name, records: [], error: 'nxdomain', families: [4, 6], ttl: this.ttl };
  }

  async services(name: string, _options?: FindOptions): Promise<Resolution<ServiceRecord>> {
    this.asked.push(name);
    await Promise.resolve();
    return this.#services.get(name) ?? { name, records: [], error: 'nxdomain', families: [], ttl: this.ttl };
  }

  cached(): undefined {
    return undefined;
  }

  close(): void {}

  /** Lets time pass, with all that is due in it. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    await settled();
    for (;;) {
      const next = this.#due.toSorted((one, other) => one.at - other.at)[0];
      if (next === undefined || next.at > end) break;
      this.#due = this.#due.filter((due) => due !== next);
      this.now = next.at;
      next.work();
      await settled();
    }
    this.now = end;
  }

  #schedule(ms: number, work: () => void): ScheduledLookup {
    const due = { at: this.now + ms, work };
    this.#due.push(due);
    return { cancel: () => void (this.#due = this.#due.filter((other) => other !== due)) };
  }
}

/** Resolves when everything that waits for nothing but other promises is done. */
function settled(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
