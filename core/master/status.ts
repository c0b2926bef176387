import { ServerStatus } from '../contract/server-status.js';
import type { ZoneSet } from '../zone/zone-set.js';
import type { HelperSet } from './helper-set.js';
import type { WorkerPool } from './worker-pool.js';

/** State of the threads, processes and zones of a master. */
export class MasterStatus extends ServerStatus {
  reloads = 0;
  loadedAt = Date.now();

  constructor(
    private readonly pool: Pick<WorkerPool, 'restarts' | 'serving'>,
    private readonly helpers: Pick<HelperSet, 'restarts'>,
    private readonly zoneSet: ZoneSet,
  ) {
    super();
  }

  /** Another configuration is active. */
  reloaded(): void {
    this.reloads++;
    this.loadedAt = Date.now();
  }

  get respawned(): number {
    return this.pool.restarts + this.helpers.restarts;
  }

  workers(): ReturnType<ServerStatus['workers']> {
    return this.pool.serving;
  }

  *zones(): ReturnType<ServerStatus['zones']> {
    // One that no directive can name is the server's own.
    for (const { name, slab } of this.zoneSet.zones()) if (!name.includes('\0')) yield { name, used: slab.used, free: slab.free };
  }
}
