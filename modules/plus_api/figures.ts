import type { ServerStatus } from '../../core/contract/server-status.js';
import type { ServerInfo } from '../../core/contract/server-info.js';
import type { Counter, Metrics } from '../../core/contract/metrics.js';
import { RESOLVER_REQUESTS, RESOLVER_RESPONSES } from '../../core/toolkit/resolver.js';
import type { Statistics } from '../../core/contract/statistics.js';
import { handshakeFailure, type HandshakeFailure } from '../../core/toolkit/handshake-failure.js';

/** Zones are counted in pages of this size (bytes). */
const PAGE = 4096;

type Numbers = Readonly<Record<string, number>>;

/** Names of NGINX Plus for failed handshakes. */
const FAILURES = {
  protocol: 'no_common_protocol',
  cipher: 'no_common_cipher',
  timed_out: 'handshake_timeout',
  certificate: 'peer_rejected_cert',
} as const satisfies Partial<Record<HandshakeFailure, string>>;
type NamedFailure = keyof typeof FAILURES;
const NAMED = Object.keys(FAILURES) as readonly NamedFailure[];

/** Lookups by kind, and their results by code. */
interface ResolverFigures {
  readonly requests: Numbers;
  readonly responses: Numbers;
}

/** Figures that can be set to zero. */
export const RESETTABLE = ['processes', 'connections', 'requests', 'ssl', 'workers'] as const;
export type Resettable = (typeof RESETTABLE)[number];

/** The figures of this server under the names that NGINX Plus gives them, counted from their last reset. */
export class PlusFigures {
  readonly #zero = new Map<Resettable, Numbers>();
  readonly #zeroOfResolvers = new Map<string, ResolverFigures>();
  readonly #failures: Readonly<Record<NamedFailure, Counter>>;

  constructor(
    private readonly statistics: Statistics,
    private readonly status: ServerStatus,
    private readonly info: ServerInfo,
    private readonly metrics: Metrics,
  ) {
    const counters = NAMED.map((kind) => [kind, metrics.counter('srv_plus_handshakes_failed_total', { reason: kind })] as const);
    this.#failures = Object.fromEntries(counters) as Record<NamedFailure, Counter>;
  }

  /** A handshake with a client has failed. In a worker. @param reason in the words of the error log */
  handshakeFailed(reason: string): void {
    const kind = handshakeFailure(reason);
    if (kind in FAILURES) this.#failures[kind as NamedFailure].add();
  }

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

  get resolvers(): Readonly<Record<string, ResolverFigures>> {
    const zones = Array.from(this.#resolverTotals(), ([zone, totals]) => {
      const zero = this.#zeroOfResolvers.get(zone);
      return [zone, { requests: since(totals.requests, zero?.requests), responses: since(totals.responses, zero?.responses) }] as const;
    });
    return Object.fromEntries(zones);
  }

  /** @returns false if there is no such zone */
  resetResolver(zone: string, isDry: boolean): boolean {
    const totals = this.#resolverTotals().get(zone);
    if (totals !== undefined && !isDry) this.#zeroOfResolvers.set(zone, totals);
    return totals !== undefined;
  }

  get workers(): object[] {
    const figures = this.#since('workers');
    return Array.from(this.status.workers(), ({ index, place }) => {
      const { active, reading, writing } = this.statistics.ofWorker(place);
      const [accepted = 0, handled = 0, requests = 0] = [0, 1, 2].map((at) => figures[`${place} ${at}`]);
      const busy = reading + writing;
      return {
        id: index,
        pid: process.pid,
        http: { requests: { total: requests, current: busy } },
        connections: { accepted, dropped: accepted - handled, active: Math.min(active, busy), idle: Math.max(active - busy, 0) },
      };
    });
  }

  /** Figures of each worker: connections accepted, connections handled, requests. */
  #workerTotals(): { readonly place: number; readonly totals: readonly number[] }[] {
    return Array.from(this.status.workers(), ({ place }) => {
      const { accepted, handled, requests } = this.statistics.ofWorker(place);
      return { place, totals: [accepted, handled, requests] };
    });
  }

  #since(what: Resettable): Numbers {
    return since(this.#totals(what), this.#zero.get(what));
  }

  #resolverTotals(): Map<string, ResolverFigures> {
    const zones = new Map<string, ResolverFigures>();
    for (const { name, labels, value } of this.metrics.read()) {
      const [group, part] = name === RESOLVER_REQUESTS ? (['requests', labels['kind']] as const) : (['responses', labels['code']] as const);
      const { zone } = labels;
      if ((name !== RESOLVER_REQUESTS && name !== RESOLVER_RESPONSES) || zone === undefined || part === undefined) continue;
      // No resolver looks up the name of an address.
      const known = zones.get(zone) ?? { requests: { addr: 0 }, responses: {} };
      zones.set(zone, { ...known, [group]: { ...known[group], [part]: Number(value) } });
    }
    return zones;
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
        return {
          handshakes,
          handshakes_failed: handshakesFailed,
          session_reuses: sessionReuses,
          ...Object.fromEntries(NAMED.map((kind) => [FAILURES[kind], this.#failures[kind].value])),
        };
      case 'workers':
        return Object.fromEntries(
          this.#workerTotals().flatMap(({ place, totals }) => totals.map((total, at) => [`${place} ${at}`, total])),
        );
    }
  }
}

function since(totals: Numbers, zero: Numbers = {}): Numbers {
  return Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, total - (zero[name] ?? 0)]));
}
