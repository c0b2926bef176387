import type { Log } from '../contract/log.js';
import type { RedisConnection } from '../contract/redis.js';
import type { ModuleZones } from '../kernel/module-zones.js';
import { ZoneExchange } from '../zone/sync/zone-exchange.js';

interface ZoneSharingOptions {
  readonly zones: ModuleZones;
  readonly redis: (name: string) => RedisConnection;
  readonly nodeName: () => string;
  readonly log: Log;
}

/** Shares zones with other nodes, as the configuration says: an exchange for each `redis` block that `sync` names. */
export class ZoneSharing {
  readonly #exchanges = new Map<string, ZoneExchange>();
  #isOpen = false;

  constructor(private readonly options: ZoneSharingOptions) {
    // The modules of the new configuration have not started at its commit.
    options.zones.onSynced = () => setImmediate(() => this.#apply());
  }

  begin(): void {
    this.#isOpen = true;
    this.#apply();
  }

  close(): void {
    this.#isOpen = false;
    for (const exchange of this.#exchanges.values()) exchange.close();
    this.#exchanges.clear();
  }

  #apply(): void {
    if (!this.#isOpen) return;
    const { zones: moduleZones, redis, nodeName, log } = this.options;
    const { zones, interval } = moduleZones.synced;
    for (const [name, exchange] of this.#exchanges) {
      if (zones.has(name)) continue;
      exchange.close();
      this.#exchanges.delete(name);
    }
    for (const [name, shared] of zones) {
      const exchange = this.#exchanges.get(name) ?? new ZoneExchange({ connection: redis(name), nodeName: nodeName(), log });
      this.#exchanges.set(name, exchange);
      exchange.share(shared, interval);
    }
  }
}
