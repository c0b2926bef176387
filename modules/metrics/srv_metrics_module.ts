import { Channels, type Channel } from '../../core/contract/channels.js';
import { Cluster, type ClusterView } from '../../core/contract/cluster.js';
import { action, DATA_PLANE_ERRORS, route, type Call, type Reply } from '../../core/contract/control.js';
import { ApiRoutes } from '../../core/contract/api-routes.js';
import { DataPlane } from '../../core/contract/data-plane.js';
import { Families, type FigureFamily } from '../../core/contract/families.js';
import type { HttpHandlers, LocationScope } from '../../core/contract/http.js';
import { Log } from '../../core/contract/log.js';
import { controlModule, coreModule, type HttpModule } from '../../core/contract/manifest.js';
import { Metrics } from '../../core/contract/metrics.js';
import { Type } from '../../core/contract/schema.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { ServerStatus } from '../../core/contract/server-status.js';
import { directive } from '../../core/contract/spec.js';
import { Statistics } from '../../core/contract/statistics.js';
import { StreamUpstreams } from '../../core/contract/stream-servers.js';
import { Tasks } from '../../core/contract/tasks.js';
import { Transactions } from '../../core/contract/transactions.js';
import { Upstreams } from '../../core/contract/upstreams.js';
import { acceptedFormat } from './accepted-format.js';
import { CONTENT_TYPES } from './exposition.js';
import type { AnyFamily } from '../../core/toolkit/figures/grouped.js';
import { Listings } from '../../core/toolkit/figures/listings.js';
import { memberFamilies } from './member-figures.js';
import { metricFamilies } from '../../core/toolkit/figures/module-metrics.js';
import { clusterFamilies, nodeFamilies } from './node-figures.js';
import type { FigurePage } from '../../core/toolkit/figures/page.js';
import { processFamilies } from './process-figures.js';
import { SharedScrapes } from './shared-scrapes.js';
import { LoadMeter, LOOK, ThreadLoads, type ThreadLoad } from './thread-load.js';

const NAME = 'srv_metrics_module';
/** Name of the main thread among the threads. */
const MAIN = 'main';
const workerName = (index: number): string => `worker${index}`;
/** How long Redis is waited for. Milliseconds. */
const CLUSTER_WAIT = 500;

/** Metrics for Prometheus (docs/monitoring.md). This half collects the figures of the data plane. */
@coreModule({ name: NAME, api: '1.2', plane: 'data' })
export class MetricsData {
  readonly #channel: Channel<null, never, ThreadLoad>;
  readonly #loads = new ThreadLoads();
  readonly #listings: Listings;
  #meter: LoadMeter | undefined;

  constructor(
    channels: Channels,
    log: Log,
    private readonly info: ServerInfo,
    private readonly tasks: Tasks,
    private readonly families: Families,
    private readonly metrics: Metrics,
    private readonly statistics: Statistics,
    private readonly status: ServerStatus,
    private readonly upstreams: Upstreams,
    private readonly streamUpstreams: StreamUpstreams,
    private readonly transactions: Transactions,
    private readonly cluster: Cluster,
  ) {
    this.#channel = channels.open('load', { told: (load, worker) => this.#loads.take(workerName(worker), load) });
    this.#listings = new Listings({ rejected: (reason) => log.write('warn', `metrics: ${reason}`) });
    families.provide(() => ({ families: this.#own() }));
  }

  start(role: string): void {
    const meter = new LoadMeter();
    this.#meter = meter;
    const look = (): void => {
      if (role === 'worker') this.#channel.tell(meter.read());
      else this.#loads.take(MAIN, meter.read());
    };
    this.tasks.run(look);
    this.tasks.every(LOOK, look);
  }

  stop(): void {
    this.#meter?.stop();
  }

  /** @returns undefined if the listing is not known any more */
  @action('metrics.page')
  async page({ next }: { readonly next?: string }): Promise<FigurePage | undefined> {
    return this.#listings.page(next ?? (await this.#begin()));
  }

  async #begin(): Promise<string> {
    const [ofProcess, cluster] = await Promise.all([processFamilies(), this.#clusterView()]);
    const { families, done } = this.families.collect();
    return this.#listings.begin({ families: this.#all([...ofProcess, ...cluster], families), done });
  }

  *#all(first: readonly AnyFamily[], ofModules: Iterable<AnyFamily>): Generator<AnyFamily> {
    yield* first;
    yield* metricFamilies(this.metrics.read());
    yield* ofModules;
  }

  /** Figures of the node, its threads and the members. */
  *#own(): Generator<FigureFamily> {
    const { info, transactions, statistics, status } = this;
    yield* nodeFamilies({ version: info.version, configuration: transactions.version, statistics, status });
    yield* this.#loads.families([MAIN, ...Array.from(status.workers(), ({ index }) => workerName(index))]);
    yield* memberFamilies('http', this.upstreams);
    yield* memberFamilies('stream', this.streamUpstreams);
  }

  async #clusterView(): Promise<readonly AnyFamily[]> {
    const late = Promise.withResolvers<undefined>();
    const timer = setTimeout(late.resolve, CLUSTER_WAIT, undefined);
    try {
      const view: ClusterView | undefined = await Promise.race([this.cluster.view(), late.promise]);
      return view === undefined ? [] : [...clusterFamilies(view)];
    } finally {
      clearTimeout(timer);
    }
  }
}

const directives = {
  metrics: directive({
    in: ['location'],
    inherit: 'none',
    doc: 'Serves the metrics at this location as well, as `location /metrics { metrics; }`. They are at `/metrics` of the API in any case.',
  }),
};

const read = {
  summary: 'Read all figures, for Prometheus',
  responses: {
    200: Type.String({
      contentMediaType: 'text/plain',
      description: 'Text of Prometheus; of OpenMetrics, or messages of Prometheus (protobuf), where `Accept` prefers them.',
    }),
  },
  errors: DATA_PLANE_ERRORS,
} as const;

/** Metrics for Prometheus and programs that read its formats: text, OpenMetrics, or messages with native histograms. */
@controlModule({ name: NAME, api: '1.2', key: 'metrics', root: '/metrics', dataModule: NAME, directives })
export class MetricsApi implements HttpModule {
  readonly #scrapes = new SharedScrapes();

  constructor(
    private readonly dataPlane: DataPlane,
    private readonly routes: ApiRoutes,
  ) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    if (scope.conf.metrics !== true || scope.directive === undefined) return undefined;
    return this.routes.location({ scope, root: '/metrics' });
  }

  @route('GET', '', read)
  async read(call: Call<typeof read>): Promise<Reply> {
    const format = acceptedFormat(call.accept);
    const ask = (next: string | undefined): Promise<FigurePage | undefined> => this.dataPlane.call('metrics.page', { next }, call);
    const stream = await this.#scrapes.read(format, ask);
    return { status: 200, type: CONTENT_TYPES[format], stream, headers: { Vary: 'Accept' } };
  }
}
