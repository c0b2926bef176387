import { Channels, type Channel } from '../../core/contract/channels.js';
import { action } from '../../core/contract/control.js';
import { ControlPlaneGuard } from '../../core/contract/control-plane-guard.js';
import { Families } from '../../core/contract/families.js';
import type { HttpHandlers, HttpRequest, VariableGetter } from '../../core/contract/http.js';
import { Log, LogRecords } from '../../core/contract/log.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { Metrics } from '../../core/contract/metrics.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { Tasks } from '../../core/contract/tasks.js';
import type { Directive } from '../../core/contract/tree.js';
import { directives } from './directives.js';
import { accessHandler, accessSettings } from './access-items.js';
import { ErrorItems } from './error-items.js';
import { SHARED_BYTES, type ExportSettings, type Signal } from './export-messages.js';
import { Exporter, type SignalCounters } from './exporter.js';
import { exporterSettings } from './exporter-settings.js';
import type { LogItem } from './log-items.js';
import { MetricsExport } from './metrics-export.js';
import { RecordBatch, type ExporterState, type RecordMessage } from './record-batch.js';
import type { SpanRecord } from './span-records.js';
import { exportFamilies, telemetryView, type TelemetryView } from './telemetry-view.js';
import { dropHandlers, locationHandlers, serverHandlers, traceOf } from './tracer.js';
import { decidesItself, traceSettings, type TelemetryScope } from './trace-settings.js';
import type { TakeSpan } from './trace-sink.js';

/** How often a worker sends the spans that it has, milliseconds: they wait for the interval of the exporter as well. */
const FLUSH = 500;
/** How often it is looked whether figures are due. */
const LOOK = 1000;

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

/** Spans of requests, log records and figures for OpenTelemetry, with the directives of nginx's otel module where it has them. */
@httpModule({
  name: 'srv_http_telemetry_module',
  api: '1.2',
  plane: 'data',
  directives,
  variables,
  // The decision comes first.
  phases: { post_read: 1, rewrite: 1 },
})
export class Telemetry implements HttpModule {
  readonly #counters: Readonly<Record<Signal, SignalCounters>>;
  readonly #channel: Channel<ExporterState, never, RecordMessage>;
  readonly #spans: RecordBatch<SpanRecord>;
  readonly #logs: RecordBatch<LogItem>;
  readonly #errors: ErrorItems;
  readonly #exporter: Exporter;
  readonly #figures: MetricsExport;
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
    records: LogRecords,
    private readonly families: Families,
    private readonly tasks: Tasks,
    private readonly info: ServerInfo,
  ) {
    this.#counters = { traces: countersOf(metrics, 'spans'), logs: countersOf(metrics, 'logs'), metrics: countersOf(metrics, 'figures') };
    this.#spans = new RecordBatch('traces', () => this.#channel, this.#counters.traces.dropped.queue_full);
    this.#logs = new RecordBatch('logs', () => this.#channel, this.#counters.logs.dropped.queue_full);
    this.#errors = new ErrorItems(records, info, (item) => this.#addLog(item));
    this.#take = (span) => this.#spans.add(span);
    this.#exporter = new Exporter(this.#memory, this.#counters, guard, log);
    this.#figures = new MetricsExport(this.#exporter, families, metrics, log);
    this.#channel = channels.open<ExporterState, never, RecordMessage>('exporter', {
      changed: (state) => {
        this.#spans.use(state);
        this.#logs.use(state);
        this.#errors.use(state.logLevel);
      },
      told: (message) => this.#exporter.send(message),
    });
  }

  start(role: string): void {
    if (role === 'worker') return void this.tasks.every(FLUSH, () => this.#flush());
    this.families.provide(() => ({ families: exportFamilies(this.#counters) }));
    this.#isStarted = true;
    this.#configure();
    this.tasks.every(LOOK, (signal) => this.#figures.look(signal));
  }

  async stop(): Promise<void> {
    this.#errors.stop();
    if (this.info.role === 'worker') this.#flush();
    else await this.#exporter.stop();
  }

  compileServer(scope: TelemetryScope): HttpHandlers | undefined {
    const settings = traceSettings(scope);
    const exporter = exporterSettings(scope, this.info);
    const [line] = scope.lines('otel_exporter');
    if (this.info.role === 'master' && exporter !== undefined && line !== undefined) this.#use(scope, line, exporter);
    // Lines of the first requests wait here until the exporter is known.
    if (this.info.role === 'worker' && exporter !== undefined) scope.register({ commit: () => this.#errors.use(exporter.logLevel) });
    return settings && serverHandlers(settings, this.#takeIn(scope));
  }

  compile(scope: TelemetryScope): HttpHandlers | undefined {
    const settings = traceSettings(scope);
    const decides = decidesItself(scope);
    const access = accessSettings(scope);
    const log = access && { log: accessHandler(access, (item) => this.#logs.add(item)) };
    if (settings === undefined) return decides ? { ...dropHandlers, ...log } : log;
    return { ...locationHandlers(settings, decides, this.#takeIn(scope)), ...log };
  }

  @action('telemetry.status')
  status(): TelemetryView {
    return telemetryView(this.#exporter, this.#counters);
  }

  #flush(): void {
    this.#spans.flush();
    this.#logs.flush();
  }

  /** The main thread has no channel to itself. */
  #addLog(item: LogItem): void {
    if (this.info.role === 'worker') this.#logs.add(item);
    else if (this.#exporter.settings !== undefined) this.#exporter.send({ signal: 'logs', count: 1, records: JSON.stringify([item]) });
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
      if (this.#users.size > 0) return;
      this.#errors.stop();
      void this.#exporter.stop();
    };
    scope.register({ commit, release });
  }

  /** The first configuration takes effect before the start. */
  #configure(): void {
    if (!this.#isStarted || this.#settings === undefined) return;
    const { batchSize, limit, logLevel } = this.#settings;
    this.#exporter.configure(this.#settings);
    this.#errors.use(logLevel);
    void this.#channel.publish({ memory: this.#memory, batchSize, limit, logLevel });
  }
}

function countersOf(metrics: Metrics, noun: string): SignalCounters {
  const dropped = (reason: string) => metrics.counter(`srv_telemetry_${noun}_dropped_total`, { reason });
  return {
    exported: metrics.counter(`srv_telemetry_${noun}_exported_total`),
    dropped: { queue_full: dropped('queue_full'), failed: dropped('failed'), rejected: dropped('rejected') },
  };
}
