import { text } from '../core/module/args.js';
import { action, type ActionContext } from '../core/module/control.js';
import { DECLINED, type HttpHandlers, type Scope } from '../core/module/http.js';
import { httpModule, type HttpModule } from '../core/module/manifest.js';
import { Metrics } from '../core/module/metrics.js';
import { ServerInfo } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import { responsesOf, ZoneCounters, type ZoneFigures, type ZoneKind } from './srv_http_status_zone_module/zone-counters.js';

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

/** Figures of servers and locations (status_zone of NGINX Plus), for `srv_http_plus_api_module`. */
@httpModule({ name: 'srv_http_status_zone_module', api: 1, plane: 'data', directives })
export class StatusZones implements HttpModule {
  readonly #zones = new Map<string, ZoneCounters>();
  /** How many scopes in force count under a name. */
  readonly #uses = new Map<ZoneCounters, number>();

  constructor(
    private readonly metrics: Metrics,
    private readonly info: ServerInfo,
  ) {}

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
  read({ kind }: Pick<ResetParams, 'kind'>): Readonly<Record<string, ZoneFigures>> {
    const zones = [...this.#uses.keys()].filter((zone) => zone.kind === kind);
    const responses = responsesOf(this.metrics.read());
    return Object.fromEntries(
      zones.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((zone) => [zone.name, zone.figures(responses(zone))]),
    );
  }

  /** @returns false if there is no such zone */
  @action('status_zones.reset')
  reset({ kind, zone: name }: ResetParams, { dryRun }: ActionContext): boolean {
    const zone = this.#zones.get(keyOf(kind, name));
    if (zone === undefined || !this.#uses.has(zone)) return false;
    if (!dryRun) zone.reset(responsesOf(this.metrics.read())(zone));
    return true;
  }

  #zoneOf(scope: Scope<typeof directives>, kind: ZoneKind): ZoneCounters | undefined {
    const name = scope.own('status_zone') ? scope.conf.status_zone : undefined;
    if (name === undefined) return undefined;
    const key = keyOf(kind, name);
    const zone = this.#zones.get(key) ?? new ZoneCounters(kind, name, this.metrics);
    this.#zones.set(key, zone);
    if (this.info.role === 'master') {
      scope.register({
        commit: () => void this.#uses.set(zone, (this.#uses.get(zone) ?? 0) + 1),
        release: () => this.#release(zone),
      });
    }
    return zone;
  }

  #release(zone: ZoneCounters): void {
    const left = (this.#uses.get(zone) ?? 1) - 1;
    if (left > 0) this.#uses.set(zone, left);
    else this.#uses.delete(zone);
  }
}

const keyOf = (kind: ZoneKind, name: string): string => `${kind} ${name}`;
