import { Channels, type Channel } from '../../core/contract/channels.js';
import { action } from '../../core/contract/control.js';
import { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import { Families } from '../../core/contract/families.js';
import type { HttpHandlers, HttpRequest, VariableGetter } from '../../core/contract/http.js';
import { Log } from '../../core/contract/log.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { Metrics } from '../../core/contract/metrics.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import type { Directive } from '../../core/contract/tree.js';
import { directives } from './directives.js';
import { DROP_REASONS, SHARED_BYTES, type ExportSettings } from './export-messages.js';
import { Exporter, type SpanCounters } from './exporter.js';
import { exporterSettings } from './exporter-settings.js';
import { SpanBatch, type ExporterState, type SpanMessage } from './span-batch.js';
import { spanFamilies, telemetryView, type TelemetryView } from './telemetry-view.js';
import { dropHandlers, locationHandlers, serverHandlers, traceOf } from './tracer.js';
import { decidesItself, traceSettings, type TelemetryScope } from './trace-settings.js';
import type { TakeSpan } from './trace-sink.js';

/** How often a worker sends the spans that it has, milliseconds: they wait for the interval of the exporter as well. */
const FLUSH = 500;

const variables: Readonly<Record<string, VariableGetter>> = {
  trace_id: (request) => traceOf(request)?.traceId,
  span_id: (request) => traceOf(request)?.spanId,
  parent_id: (request) => traceOf(request)?.parentId,
  trace_sampled: (request) => sampledText(request),
};

function sampledText(request: HttpRequest): string {
  return traceOf(request)?.isSampled === true ? '1' : '0';
}

const ignore: TakeSpan = () => undefined;

/** Spans of requests for OpenTelemetry, with the directives of nginx's otel module where it has them. */
@httpModule({
  name: 'srv_http_telemetry_module',
  api: '1.2',
  plane: 'data',
  directives,
  variables,
  // The decision comes first, and the content of a request begins after all that comes before it.
  phases: { post_read: 1, rewrite: 1, precontent: 1000 },
})
export class Telemetry implements HttpModule {
  readonly #counters: SpanCounters;
  readonly #channel: Channel<ExporterState, never, SpanMessage>;
  readonly #batch: SpanBatch;
  readonly #exporter: Exporter;
  readonly #memory = new SharedArrayBuffer(SHARED_BYTES);
  /** Lines `otel_exporter` that servers are compiled with, and how many are. */
  readonly #users = new Map<Directive, number>();
  readonly #take: TakeSpan;
  #settings: ExportSettings | undefined;
  #isStarted = false;

  constructor(
    channels: Channels,
    metrics: Metrics,
    guard: ControlPlaneGuard,
    log: Log,
    private readonly families: Families,
    private readonly tasks: Tasks,
    private readonly info: ServerInfo,
  ) {
    const dropped = (reason: string) => metrics.counter('srv_telemetry_spans_dropped_total', { reason });
    this.#counters = {
      exported: metrics.counter('srv_telemetry_spans_exported_total'),
      dropped: { queue_full: dropped(DROP_REASONS[0]), failed: dropped(DROP_REASONS[1]), rejected: dropped(DROP_REASONS[2]) },
    };
    this.#batch = new SpanBatch(() => this.#channel, this.#counters.dropped.queue_full);
    this.#take = (span) => this.#batch.add(span);
    this.#exporter = new Exporter(this.#memory, this.#counters, guard, log);
    this.#channel = channels.open<ExporterState, never, SpanMessage>('exporter', {
      changed: (state) => this.#batch.use(state),
      told: (message) => this.#exporter.send(message),
    });
  }

  start(role: string): void {
    if (role === 'worker') return void this.tasks.every(FLUSH, () => this.#batch.flush());
    this.families.provide(() => ({ families: spanFamilies(this.#counters) }));
    this.#isStarted = true;
    this.#configure();
  }

  async stop(): Promise<void> {
    if (this.info.role === 'worker') this.#batch.flush();
    else await this.#exporter.stop();
  }

  compileServer(scope: TelemetryScope): HttpHandlers | undefined {
    const settings = traceSettings(scope);
    const exporter = exporterSettings(scope, this.info);
    const [line] = scope.lines('otel_exporter');
    if (this.info.role === 'master' && exporter !== undefined && line !== undefined) this.#use(scope, line, exporter);
    return settings && serverHandlers(settings, this.#takeIn(scope));
  }

  compile(scope: TelemetryScope): HttpHandlers | undefined {
    const settings = traceSettings(scope);
    const decides = decidesItself(scope);
    if (settings === undefined) return decides ? dropHandlers : undefined;
    return locationHandlers(settings, decides, this.#takeIn(scope));
  }

  @action('telemetry.status')
  status(): TelemetryView {
    return telemetryView(this.#exporter, this.#counters);
  }

  /** Without an exporter contexts go on to members, and nothing else happens. */
  #takeIn({ conf }: TelemetryScope): TakeSpan {
    return conf.otel_exporter === undefined ? ignore : this.#take;
  }

  /** The exporter works as long as a server is there that names it. */
  #use(scope: TelemetryScope, line: Directive, settings: ExportSettings): void {
    const commit = (): void => {
      const users = this.#users.get(line) ?? 0;
      this.#users.set(line, users + 1);
      if (users > 0) return;
      this.#settings = settings;
      this.#configure();
    };
    const release = (): void => {
      const users = (this.#users.get(line) ?? 1) - 1;
      if (users > 0) return void this.#users.set(line, users);
      this.#users.delete(line);
      if (this.#users.size === 0) void this.#exporter.stop();
    };
    scope.register({ commit, release });
  }

  /** The first configuration takes effect before the start. */
  #configure(): void {
    if (!this.#isStarted || this.#settings === undefined) return;
    const { batchSize, limit } = this.#settings;
    this.#exporter.configure(this.#settings);
    void this.#channel.publish({ memory: this.#memory, batchSize, limit });
  }
}
