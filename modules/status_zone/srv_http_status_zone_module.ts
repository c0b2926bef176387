import { text } from '../../core/contract/args.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { DECLINED, type HttpHandlers, type Scope } from '../../core/contract/http.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { Metrics } from '../../core/contract/metrics.js';
import { directive } from '../../core/contract/spec.js';
import { responsesOf, ZoneCounters, type StatusZoneFigures, type ZoneKind } from './zone-counters.js';

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

/** A zone, and how many scopes count in it. */
interface UsedZone {
  readonly zone: ZoneCounters;
  uses: number;
}

/** Figures of servers and locations (status_zone of NGINX Plus), for `srv_http_plus_api_module`. */
@httpModule({ name: 'srv_http_status_zone_module', api: 1, plane: 'data', directives })
export class StatusZones implements HttpModule {
  readonly #zones = new Map<string, UsedZone>();

  constructor(private readonly metrics: Metrics) {}

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
    const zones = Array.from(this.#zones.values(), ({ zone }) => zone).filter((zone) => zone.kind === kind);
    const responses = responsesOf(this.metrics.read());
    return Object.fromEntries(
      zones.toSorted((a, b) => (a.name < b.name ? -1 : 1)).map((zone) => [zone.name, zone.figures(responses(zone))]),
    );
  }

  /** @returns false if there is no such zone */
  @action('status_zones.reset')
  reset({ kind, zone: name }: ResetParams, { dryRun }: ActionContext): boolean {
    const zone = this.#zones.get(keyOf(kind, name))?.zone;
    if (zone === undefined) return false;
    if (!dryRun) zone.reset(responsesOf(this.metrics.read())(zone));
    return true;
  }

  #zoneOf(scope: Scope<typeof directives>, kind: ZoneKind): ZoneCounters | undefined {
    const name = scope.own('status_zone') ? scope.conf.status_zone : undefined;
    if (name === undefined) return undefined;
    const key = keyOf(kind, name);
    const metrics = this.metrics.group(key, scope);
    const used = this.#zones.get(key) ?? { zone: new ZoneCounters(kind, name, metrics), uses: 0 };
    this.#zones.set(key, used);
    used.uses++;
    const release = (): void => {
      if (--used.uses === 0) this.#zones.delete(key);
    };
    scope.register({ abort: release, release });
    return used.zone;
  }
}

const keyOf = (kind: ZoneKind, name: string): string => `${kind} ${name}`;
