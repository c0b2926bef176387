import type { ServerStatus } from '../../core/contract/server-status.js';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { Statistics } from '../../core/contract/statistics.js';

/** Zones are counted in pages of this size (bytes). */
const PAGE = 4096;

type Numbers = Readonly<Record<string, number>>;

/** Figures that can be set to zero. */
export const RESETTABLE = ['processes', 'connections', 'requests', 'ssl'] as const;
export type Resettable = (typeof RESETTABLE)[number];

/** The figures of this server under the names that NGINX Plus gives them, counted from their last reset. */
export class PlusFigures {
  readonly #zero = new Map<Resettable, Numbers>();

  constructor(
    private readonly statistics: Statistics,
    private readonly status: ServerStatus,
    private readonly info: ServerInfo,
  ) {}

  reset(what: Resettable): void {
    this.#zero.set(what, this.#totals(what));
  }

  get nginx(): object {
    const { version, nodeName } = this.info;
    return {
      version,
      build: `srv-${version}`,
      address: nodeName,
      generation: this.status.reloads + 1,
      load_timestamp: new Date(this.status.loadedAt).toISOString(),
      timestamp: new Date().toISOString(),
      pid: process.pid,
      ppid: process.ppid,
    };
  }

  get processes(): object {
    return this.#since('processes');
  }

  get connections(): object {
    const { active, waiting } = this.statistics;
    return { ...this.#since('connections'), active: active - waiting, idle: waiting };
  }

  get requests(): object {
    const { reading, writing } = this.statistics;
    return { ...this.#since('requests'), current: reading + writing };
  }

  get ssl(): object {
    return this.#since('ssl');
  }

  get slabs(): object {
    const zones = Array.from(this.status.zones(), ({ name, used, free }) => {
      const pages = { used: Math.ceil(used / PAGE), free: Math.floor(free / PAGE) };
      return [name, { pages, slots: {} }] as const;
    });
    return Object.fromEntries(zones);
  }

  get workers(): object[] {
    return Array.from(this.status.workers(), ({ index, place }) => {
      const { accepted, handled, requests, active, reading, writing } = this.statistics.ofWorker(place);
      const busy = reading + writing;
      return {
        id: index,
        pid: process.pid,
        http: { requests: { total: requests, current: busy } },
        connections: { accepted, dropped: accepted - handled, active: Math.min(active, busy), idle: Math.max(active - busy, 0) },
      };
    });
  }

  #since(what: Resettable): Numbers {
    const zero = this.#zero.get(what) ?? {};
    return Object.fromEntries(Object.entries(this.#totals(what)).map(([name, total]) => [name, total - (zero[name] ?? 0)]));
  }

  #totals(what: Resettable): Numbers {
    const { accepted, handled, requests, handshakes, handshakesFailed, sessionReuses } = this.statistics;
    switch (what) {
      case 'processes':
        return { respawned: this.status.respawned };
      case 'connections':
        return { accepted, dropped: accepted - handled };
      case 'requests':
        return { total: requests };
      case 'ssl':
        return { handshakes, handshakes_failed: handshakesFailed, session_reuses: sessionReuses };
    }
  }
}
