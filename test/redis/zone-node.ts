import type { RecordOptions } from '../../core/contract/zones.js';
import type { ZoneSync } from '../../core/contract/spec.js';
import { ZoneHolds } from '../../core/zone/holds.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { ZoneExchange } from '../../core/zone/sync/zone-exchange.js';
import { Zone } from '../../core/zone/zone.js';
import { BlockConnection } from '../../modules/redis/redis-connection.js';
import type { RedisSettings } from '../../modules/redis/redis-settings.js';
import type { Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { MemoryLog } from '../control/memory-log.js';
import { redisSettings } from './pairs-node.js';

export const INTERVAL = 50;

/** Zones of one of several nodes in this process, shared over a connection of their own. */
export class ZoneNode {
  readonly log = new MemoryLog();
  readonly clock = {
    get now(): number {
      return Date.now();
    },
  };
  readonly connection = new BlockConnection('main');
  readonly exchange: ZoneExchange;
  readonly #zones: Zone[] = [];

  private constructor(
    readonly name: string,
    private readonly settings: RedisSettings,
  ) {
    this.exchange = new ZoneExchange({ connection: this.connection, nodeName: name, log: this.log });
  }

  static start(t: Scope, name: string, port: number, settings: Partial<RedisSettings> = {}): ZoneNode {
    const node = new ZoneNode(name, redisSettings(port, settings));
    t.teardown(() => node.end());
    return node;
  }

  records<F extends string, S extends string = never>(
    zone: string,
    sync: Exclude<ZoneSync, 'sum'>,
    options: RecordOptions<F, S>,
    size = 1024 * 1024,
  ): ZoneRecords<F, S> {
    return ZoneRecords.open(this.#zone(zone, size), options, this.clock, sync)!;
  }

  holds(zone: string, workers = 2): ZoneHolds {
    return ZoneHolds.open(this.#zone(zone, 1024 * 1024), 0, workers, true)!;
  }

  /** Resolves when it is connected and another node that is there has heard of it. */
  async share(interval = INTERVAL): Promise<void> {
    this.connection.open(this.settings, 'c');
    this.exchange.share(this.#zones, interval);
    await this.connection.attempted;
    await waitFor(`${this.name} connected`, () => this.connection.status.state === 'ready');
  }

  end(): void {
    this.exchange.close();
    this.connection.close('end');
  }

  #zone(name: string, size: number): Zone {
    const zone = Zone.create(name, size);
    this.#zones.push(zone);
    return zone;
  }
}
