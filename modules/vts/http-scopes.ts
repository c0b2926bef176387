import type { FigureRow, FigureTable } from '../../core/contract/figures.js';
import { DECLINED, type HttpHandlers, type HttpRequest, type Result, type Scope } from '../../core/contract/http.js';
import { EndedRequest, type Sources } from './counting.js';
import type { directives } from './directives.js';
import type { Exemplars } from './exemplars.js';
import { Filter } from './filters.js';
import { Http, HTTP_SHAPE, keyOf, Main, MAIN_SHAPE } from './layout.js';
import type { MemberRows } from './member-rows.js';

export type HttpStatisticsScope = Scope<typeof directives>;

/** Groups without `vhost_traffic_status_filter_max_node`. */
const MOST_GROUPS = 1000;

export const mostGroups = ({ conf }: HttpStatisticsScope): number =>
  conf.vts_filter_max_node ?? conf.vhost_traffic_status_filter_max_node ?? MOST_GROUPS;

/** True if requests of the scope are counted. */
export function isCounted(scope: HttpStatisticsScope): boolean {
  return scope.conf.vts ?? scope.conf.vhost_traffic_status ?? zoneLines(scope) > 0;
}

const zoneLines = (scope: HttpStatisticsScope): number => scope.lines('vts_zone').length + scope.lines('vhost_traffic_status_zone').length;

/** Name of a block's own `status_zone`. */
const zoneName = (scope: HttpStatisticsScope): string | undefined =>
  scope.own('status_zone') ? scope.lines('status_zone')[0]?.args[0]?.text : undefined;

/** Name of the server in statistics: its `status_zone`, else the first of its names. */
function serverName(scope: HttpStatisticsScope): string {
  return zoneName(scope) ?? (scope.own('server_name') ? scope.lines('server_name')[0]?.args[0]?.text : undefined) ?? '_';
}

/** Attempts of a request after its first one: under this key of the request. */
const RETRIES = {};

/** Figures of other modules that requests of a scope may have. */
function sourcesOf(scope: HttpStatisticsScope): Sources {
  return {
    cache: scope.lines('proxy_cache_path').length + scope.lines('fastcgi_cache_path').length > 0,
    limitReq: scope.lines('limit_req_zone').length > 0,
    limitConn: scope.lines('limit_conn_zone').length > 0,
    traces: scope.lines('telemetry').length > 0,
  };
}

/** Counters of the requests of a server. */
export class ServerCounters {
  readonly key: string;
  readonly row: FigureRow;

  constructor(scope: HttpStatisticsScope, table: FigureTable) {
    this.key = keyOf('server', serverName(scope));
    this.row = table.held(this.key, HTTP_SHAPE, scope);
  }

  readonly begin = (request: HttpRequest): Result => {
    this.row.move(0, 1);
    request.atEnd(this.#end);
    return DECLINED;
  };

  count(ended: EndedRequest, retries: number): void {
    ended.countIn(this.row);
    if (retries > 0) this.row.add(Http.Retries, retries);
  }

  readonly #end = (): void => this.row.move(0, -1);
}

/** The counters of a server as its locations see them: a location is not compiled again when the server has another name. */
export class CountedServers {
  readonly #servers = new Map<number, { current: ServerCounters | undefined }>();

  /** @param counters undefined: the server is not counted */
  compiled(scope: HttpStatisticsScope, counters: ServerCounters | undefined): void {
    const server = this.of(scope);
    const release = (): void => {
      if (server.current === counters) server.current = undefined;
    };
    scope.register({ commit: () => void (server.current = counters), release });
  }

  /** That of the server that a scope is, or is in. */
  of(scope: HttpStatisticsScope): { current: ServerCounters | undefined } {
    const id = around(scope, 'server')?.directive?.id ?? 0;
    const server = this.#servers.get(id) ?? { current: undefined };
    this.#servers.set(id, server);
    return server;
  }
}

/** Counters of the requests of one location, or of a block in one, or of a server without a location. */
export class ScopeCounters {
  readonly #main: FigureRow;
  readonly #location: FigureRow | undefined;
  readonly #filters: readonly Filter[];
  readonly #sources: Sources;
  readonly #locationKey: string;

  constructor(
    scope: HttpStatisticsScope,
    table: FigureTable,
    /** One for all requests of the thread. */
    private readonly ended: EndedRequest,
    private readonly members: MemberRows,
    private readonly server: { readonly current: ServerCounters | undefined },
    private readonly exemplars: Pick<Exemplars, 'note'>,
  ) {
    const location = around(scope, 'location');
    const zone = location && zoneName(location);
    const { conf } = scope;
    this.#main = table.held(keyOf('main', ''), MAIN_SHAPE, scope);
    this.#locationKey = keyOf('location', zone ?? '');
    this.#location = zone === undefined ? undefined : table.held(this.#locationKey, HTTP_SHAPE, scope);
    const filters = [...conf.vhost_traffic_status_filter_by_set_key, ...conf.vts_filter_by_set_key];
    this.#filters = filters.map((line) => new Filter(table, line, mostGroups(scope)));
    this.#sources = sourcesOf(scope);
  }

  /** A request has ended. */
  readonly count = (request: HttpRequest): void => {
    if (request.parent !== undefined) {
      this.#main.add(Main.Subrequests, 1);
      return;
    }
    const { ended } = this;
    ended.read(request, this.#sources);
    const retries = (request.get(RETRIES) as number | undefined) ?? 0;
    this.server.current?.count(ended, retries);
    if (this.#location !== undefined) {
      ended.countIn(this.#location);
      if (retries > 0) this.#location.add(Http.Retries, retries);
    }
    for (const filter of this.#filters) filter.count(request, ended);
    if (this.#sources.traces) this.#noteExemplars(request);
  };

  #noteExemplars(request: HttpRequest): void {
    if (request.variable('trace_sampled') !== '1') return;
    const { time } = this.ended;
    const server = this.server.current;
    if (server !== undefined) this.exemplars.note(server.key, request, time);
    if (this.#location !== undefined) this.exemplars.note(this.#locationKey, request, time);
  }

  /** An attempt at a member has ended. */
  readonly countAttempt: NonNullable<HttpHandlers['memberAttemptEnd']> = (request, attempt) => {
    this.members.count(attempt);
    if (attempt.number > 1 && request.parent === undefined) request.set(RETRIES, ((request.get(RETRIES) as number | undefined) ?? 0) + 1);
  };

  /** Rows that were found by requests are not valid any more. */
  clear(): void {
    for (const filter of this.#filters) filter.clear();
  }
}

/** The scope of that kind that a scope is, or is in. */
function around(scope: HttpStatisticsScope, kind: 'server' | 'location'): HttpStatisticsScope | undefined {
  let at: HttpStatisticsScope | undefined = scope;
  while (at !== undefined && at.kind !== kind) at = at.parent as HttpStatisticsScope | undefined;
  return at;
}
