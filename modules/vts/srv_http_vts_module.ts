import { setImmediate } from 'node:timers/promises';
import type { FigureTable } from '../../core/contract/figures.js';
import { action, type ActionContext } from '../../core/contract/control.js';
import { Channels } from '../../core/contract/channels.js';
import { ClientConnections } from '../../core/contract/client-connections.js';
import { DECLINED, type HttpHandlers } from '../../core/contract/http.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { Metrics, type MetricScope } from '../../core/contract/metrics.js';
import { Families } from '../../core/contract/families.js';
import { ServerStatus } from '../../core/contract/server-status.js';
import { Statistics } from '../../core/contract/statistics.js';
import { StreamServers, StreamUpstreams } from '../../core/contract/stream-servers.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Upstreams } from '../../core/contract/upstreams.js';
import { VirtualServers } from '../../core/contract/virtual-servers.js';
import { Zones } from '../../core/contract/zones.js';
import { EndedRequest } from './counting.js';
import { directives, OWN_SIZE } from './directives.js';
import { Exemplars } from './exemplars.js';
import { collectFamilies } from './families.js';
import { CountedServers, isCounted, mostGroups, ScopeCounters, ServerCounters, type HttpStatisticsScope } from './http-scopes.js';
import { Collector } from './collector.js';
import type { FormatMember } from './format-json.js';
import { memberSettings } from './member-settings.js';
import { History, type HistoryPoint } from './history.js';
import { ListenerRows } from './listener-rows.js';
import { MemberRows } from './member-rows.js';
import { Pages, selected, timesOfServers, type Page, type PageCall, type Selection } from './pages.js';
import { plusZones } from './plus-zones.js';
import { INTERVAL, Rates } from './rates.js';
import { sentTimes, type SentTimes } from './recent-times.js';
import { mainView, type MainView } from './main-view.js';
import { StatisticsMemory, StatisticsTables } from './tables.js';
import { statisticsVariables } from './variables.js';
import { Watch } from './watch.js';

const NAME = 'srv_http_vts_module';
/** How often a worker releases rows that the main thread has ended, and how often rates are measured. Milliseconds. */
const TRIM = 2000;
/** Samples of rates between two looks at what is wrong: ten seconds. */
const LOOK = 10;
/** How often exemplars of rows that are gone are forgotten. Milliseconds. */
const FORGET = 60_000;
/** Rows that are set to zero before others run. */
const RESET = 50;

/** Statistics of servers, locations, upstreams and groups of requests, with distributions of times and with rates (nginx-module-vts). */
@httpModule({ name: NAME, api: '1.2', plane: 'data', directives, provides: [StatisticsMemory] })
export class HttpStatistics extends StatisticsMemory implements HttpModule {
  readonly #tables: StatisticsTables;
  readonly #collector: Collector;
  readonly #rates = new Rates();
  readonly #watch = new Watch();
  readonly #history = new History();
  readonly #pages: Pages;
  readonly #ended = new EndedRequest();
  readonly #servers = new CountedServers();
  /** Rows of members by their table. */
  readonly #members = new Map<FigureTable, MemberRows>();
  readonly #listeners: ListenerRows;
  readonly #exemplars: Exemplars;
  readonly variables = statisticsVariables(({ scope }) => this.#servers.of(scope as HttpStatisticsScope).current?.row);
  readonly #trimSteps = new Set<() => void>();

  constructor(
    zones: Zones,
    channels: Channels,
    private readonly families: Families,
    private readonly tasks: Tasks,
    private readonly upstreams: Upstreams,
    private readonly statistics: Statistics,
    private readonly status: ServerStatus,
    private readonly metrics: Metrics,
    private readonly connections: ClientConnections,
    streamUpstreams: StreamUpstreams,
    servers: VirtualServers,
    streamServers: StreamServers,
  ) {
    super();
    this.#tables = new StatisticsTables(zones, zones.own('figures', OWN_SIZE));
    this.#collector = new Collector(
      this.#tables,
      { http: upstreams, stream: streamUpstreams, addresses: () => addressesOf(servers, streamServers) },
      (work) => tasks.run(work),
    );
    this.#listeners = new ListenerRows(this.#tables);
    this.#exemplars = new Exemplars(channels);
    this.#pages = new Pages(this.#collector, this.#rates, setImmediate);
  }

  start(role: string): void {
    if (role === 'worker') {
      this.connections.observe(this.#listeners);
      this.tasks.every(TRIM, () => this.#trim());
      this.tasks.every(INTERVAL, () => this.#exemplars.send());
    } else {
      this.families.provide(() => collectFamilies(this.#collector, this.#exemplars));
      this.tasks.every(INTERVAL, () => this.#sample());
      this.tasks.every(FORGET, () => this.#exemplars.retain(new Set(this.#collector.rows.map(({ totals }) => totals.key))));
    }
  }

  own(scope: MetricScope): FigureTable {
    return this.#tables.use(undefined, scope);
  }

  onTrim(step: () => void): void {
    this.#trimSteps.add(step);
  }

  compileServer(scope: HttpStatisticsScope): HttpHandlers | undefined {
    const table = this.#tableOf(scope);
    const counters = table && new ServerCounters(scope, table);
    this.#servers.compiled(scope, counters);
    return counters && { post_read: counters.begin, explain: { post_read: () => DECLINED } };
  }

  compile(scope: HttpStatisticsScope): HttpHandlers | undefined {
    const table = this.#tableOf(scope);
    if (table === undefined) return undefined;
    const members = this.#membersOf(table, mostGroups(scope));
    const counters = new ScopeCounters(scope, table, this.#ended, members, this.#servers.of(scope), this.#exemplars);
    const clear = (): void => counters.clear();
    this.#trimSteps.add(clear);
    const release = (): void => void this.#trimSteps.delete(clear);
    scope.register({ abort: release, release });
    return { log: counters.count, memberAttemptEnd: counters.countAttempt };
  }

  @action('vts.main')
  main(): MainView {
    return mainView(
      { statistics: this.statistics, status: this.status, metrics: this.metrics },
      {
        groups: this.#collector.budget,
        sample: this.#rates.number,
        slow: this.#watch.slow,
        failing: this.#watch.failing,
      },
    );
  }

  /** Times of all requests since the start. */
  @action('vts.times')
  async times(): Promise<SentTimes> {
    return sentTimes(await timesOfServers(this.#collector.rows, setImmediate));
  }

  /** Figures of the last hour, the oldest first. */
  @action('vts.history')
  history(): readonly HistoryPoint[] {
    return this.#history.points;
  }

  /** @returns undefined if the listing is not known any more */
  @action('vts.page')
  page(call: PageCall): Promise<Page | undefined> {
    return this.#pages.page(call);
  }

  /** @returns undefined if there is no upstream of this name */
  @action('vts.members')
  membersOf({ upstream }: { readonly upstream: string }): readonly FormatMember[] | undefined {
    const view = this.upstreams.get(upstream);
    return view && memberSettings(view);
  }

  @action('vts.changed')
  changed({ after }: { readonly after: number }): boolean {
    return this.#rates.hasChangedAfter(after);
  }

  /** For the API of NGINX Plus. */
  @action('vts.stream_zones')
  streamZones(): Readonly<Record<string, object>> {
    return plusZones(this.#collector.rows);
  }

  /** @returns how many rows were set to zero */
  @action('vts.reset')
  async reset(selection: Selection, { dryRun }: ActionContext): Promise<number> {
    const rows = selected(this.#collector.rows, selection);
    if (dryRun) return rows.length;
    for (const [at, { totals }] of rows.entries()) {
      if (at > 0 && at % RESET === 0) await setImmediate();
      totals.reset();
      this.#rates.clear(totals);
      this.#watch.clear(totals);
    }
    return rows.length;
  }

  async #sample(): Promise<void> {
    await this.#collector.list(setImmediate);
    const { rows } = this.#collector;
    const now = Date.now();
    await this.#rates.sample(rows, now, setImmediate);
    if (this.#rates.number % LOOK !== 1) return;
    await this.#watch.look(rows, now, setImmediate);
    const times = await timesOfServers(rows, setImmediate);
    await this.#history.add(rows, { at: now, connections: this.statistics.active, times }, setImmediate);
  }

  #tableOf(scope: HttpStatisticsScope): FigureTable | undefined {
    if (!isCounted(scope)) return undefined;
    const { vts_zone: short, vhost_traffic_status_zone: long } = scope.conf;
    return this.#tables.use(short ?? long, scope);
  }

  #membersOf(table: FigureTable, most: number): MemberRows {
    const known = this.#members.get(table);
    if (known !== undefined) return known;
    const rows = new MemberRows(table, this.upstreams, { upstream: 'upstream', member: 'member' }, most);
    this.#members.set(table, rows);
    return rows;
  }

  #trim(): void {
    let hasTrimmed = false;
    for (const table of this.#tables.all) if (table.trim()) hasTrimmed = true;
    if (!hasTrimmed) return;
    this.#listeners.clear();
    for (const members of this.#members.values()) members.clear();
    for (const step of this.#trimSteps) step();
  }
}

function addressesOf(...engines: readonly VirtualServers[]): ReadonlySet<string> {
  return new Set(engines.flatMap((servers) => Array.from(servers.all(), ({ addresses }) => addresses)).flat());
}
