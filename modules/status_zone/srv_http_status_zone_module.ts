import { text, type ZoneSize } from '../../core/contract/args.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { Families, type Collection, type FigureFamily } from '../../core/contract/families.js';
import type { FigureTable, FigureTotals } from '../../core/contract/figures.js';
import { DECLINED, type HttpHandlers, type Scope } from '../../core/contract/http.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { directive } from '../../core/contract/spec.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Zones } from '../../core/contract/zones.js';
import { ZONE_SHAPE, ZoneCounters, zoneFigures, type StatusZoneFigures, type ZoneKind } from './zone-counters.js';
import { zoneFamilies, type ZonesByName } from './zone-families.js';

const directives = {
  status_zone: directive({
    in: ['server', 'location'],
    args: text('zone'),
    inherit: 'none',
    doc: 'Counts the requests of the server, or of the location, under this name, over all workers. Servers with one name are counted together.',
  }),
};

interface ResetParams {
  readonly kind: ZoneKind;
  readonly zone: string;
}

/** Bytes for all zones, of which the system gives the used part: a zone takes 7 KB in each worker that has counted in it. */
const MEMORY = 64 * 1024 * 1024;
/** How often it is looked whether zones have gone. Milliseconds. */
const SWEEP = 10_000;

/** Figures of servers and locations (status_zone of NGINX Plus), for `srv_http_plus_api_module`. */
@httpModule({ name: 'srv_http_status_zone_module', api: '1.2', plane: 'data', directives })
export class StatusZones implements HttpModule {
  readonly #memory: ZoneSize;
  /** Undefined: no configuration has had a zone yet. */
  #table: FigureTable | undefined;
  /** {@link FigureTable.endings} when rows that had ended were removed last. */
  #endings = 0;

  constructor(
    private readonly zones: Zones,
    private readonly families: Families,
    private readonly tasks: Tasks,
  ) {
    this.#memory = zones.own('zones', MEMORY);
  }

  start(role: string): void {
    if (role === 'worker') return;
    this.families.provide(() => this.#collect());
    this.tasks.every(SWEEP, () => void this.#rows());
  }

  compileServer(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const zone = this.#zoneOf(scope, 'server');
    if (zone === undefined) return undefined;
    return {
      post_read: (request) => {
        zone.begin();
        request.atEnd(zone.end);
        return DECLINED;
      },
    };
  }

  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const zone = scope.kind === 'location' ? this.#zoneOf(scope, 'location') : undefined;
    if (zone === undefined) return undefined;
    return {
      log: (request) => {
        if (request.parent === undefined) zone.count(request);
      },
    };
  }

  @action('status_zones.read')
  read({ kind }: Pick<ResetParams, 'kind'>): Readonly<Record<string, StatusZoneFigures>> {
    const zones = [...zonesOf(kind, this.#rows())].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(zones.map(([name, totals]) => [name, zoneFigures(kind, totals)]));
  }

  /** @returns false if there is no such zone */
  @action('status_zones.reset')
  reset({ kind, zone }: ResetParams, { dryRun }: ActionContext): boolean {
    const totals = zonesOf(kind, this.#rows()).get(zone);
    if (totals === undefined) return false;
    if (!dryRun) totals.reset();
    return true;
  }

  #collect(): Collection {
    const rows = this.#rows();
    const ofKind = (kind: ZoneKind): Iterable<FigureFamily> => zoneFamilies(kind, zonesOf(kind, rows));
    return { families: [...ofKind('server'), ...ofKind('location')] };
  }

  /** Rows of zones that a configuration has, or requests under way. Removes the others. */
  #rows(): readonly FigureTotals[] {
    const table = this.#table;
    if (table === undefined) return [];
    let rows = table.totals();
    // A long list comes in pieces.
    for (let before: typeof rows = []; rows !== before; rows = table.totals()) before = rows;
    const { endings } = table;
    if (endings === this.#endings) return rows;
    this.#endings = endings;
    table.sweep(rows.filter(({ hasEnded }) => hasEnded));
    return table.totals();
  }

  #zoneOf(scope: Scope<typeof directives>, kind: ZoneKind): ZoneCounters | undefined {
    const name = scope.own('status_zone') ? scope.conf.status_zone : undefined;
    if (name === undefined) return undefined;
    this.#table ??= this.zones.figures(this.#memory);
    return new ZoneCounters(this.#table.held(keyOf(kind, name), ZONE_SHAPE, scope));
  }
}

const keyOf = (kind: ZoneKind, name: string): string => `${kind} ${name}`;

function zonesOf(kind: ZoneKind, rows: readonly FigureTotals[]): ZonesByName {
  const prefix = keyOf(kind, '');
  return new Map(rows.filter(({ key }) => key.startsWith(prefix)).map((row) => [row.key.slice(prefix.length), row]));
}
