/** The thread that sends spans, log records and figures to a collector: encoding them and waiting for it costs requests nothing. */
import { parentPort } from 'node:worker_threads';
import { SIGNALS, urlOf, type FromExporter, type Signal, type SignalResult, type ToExporter } from './export-messages.js';
import type { FigureRecord } from './readable-metrics.js';
import { logCodec, metricCodec, traceCodec, type SignalCodec } from './signal-codecs.js';
import { SignalExporter } from './signal-exporter.js';
import type { LogItem } from './log-items.js';
import type { SpanRecord } from './span-records.js';

type Configure = Extract<ToExporter, { kind: 'configure' }>;

/** The exporters of all signals. */
interface Exporters {
  readonly traces: SignalExporter<SpanRecord>;
  readonly logs: SignalExporter<LogItem>;
  readonly metrics: SignalExporter<FigureRecord>;
}

class ExportThread {
  #exporters: Exporters | undefined;
  /** Connections that wait for the main thread, by number. */
  readonly #asking = new Map<number, (rejection: string | undefined) => void>();
  #lastAsked = 0;

  constructor(private readonly tell: (message: FromExporter) => void) {}

  receive(message: ToExporter): void {
    switch (message.kind) {
      case 'configure':
        this.#configure(message);
        break;
      case 'records':
        if (message.signal === 'traces') this.#exporters?.traces.add(parsed(message.records) as readonly SpanRecord[]);
        else this.#exporters?.logs.add(parsed(message.records) as readonly LogItem[]);
        break;
      case 'figures': {
        const { families, at, since } = message;
        this.#exporters?.metrics.add(families.flatMap((family) => family.samples.map((sample) => ({ family, sample, at, since }))));
        break;
      }
      case 'permission':
        this.#asking.get(message.id)?.(message.rejection);
        this.#asking.delete(message.id);
        break;
      case 'finish':
        void this.#finish();
        break;
    }
  }

  #configure(message: Configure): void {
    const { settings } = message;
    const former = this.#exporters;
    const exporters = {
      traces: this.#exporter(message, 'traces', traceCodec(settings)),
      logs: this.#exporter(message, 'logs', logCodec(settings)),
      metrics: this.#exporter(message, 'metrics', metricCodec(settings)),
    };
    this.#exporters = exporters;
    handOver(former?.traces, exporters.traces);
    handOver(former?.logs, exporters.logs);
    handOver(former?.metrics, exporters.metrics);
  }

  #exporter<R>({ settings, memory }: Configure, signal: Signal, codec: SignalCodec<R>): SignalExporter<R> {
    const shared = new Int32Array(memory);
    return new SignalExporter(
      settings,
      urlOf(settings, signal),
      codec,
      (host, port) => this.#assertAllowed(host, port),
      (result: SignalResult) => this.tell({ ...result, signal }),
      (count) => Atomics.store(shared, SIGNALS.indexOf(signal), count),
    );
  }

  async #finish(): Promise<void> {
    const { traces, logs, metrics } = this.#exporters ?? {};
    await Promise.all([traces?.finish(), logs?.finish(), metrics?.finish()]);
    this.tell({ kind: 'finished' });
  }

  async #assertAllowed(host: string, port: number): Promise<void> {
    const id = ++this.#lastAsked;
    const rejection = await new Promise<string | undefined>((resolve) => {
      this.#asking.set(id, resolve);
      this.tell({ kind: 'ask', id, host, port });
    });
    if (rejection !== undefined) throw new Error(rejection);
  }
}

/** Gives the new exporter the records that the former one has not sent. */
function handOver<R>(former: SignalExporter<R> | undefined, next: SignalExporter<R>): void {
  const waiting = former?.takeWaiting() ?? [];
  void former?.finish();
  next.add(waiting);
}

/** Texts of requests are bytes: here they become characters, all at once. */
function parsed(records: string): unknown {
  return JSON.parse(Buffer.from(records, 'latin1').toString());
}

const thread = new ExportThread((message) => parentPort?.postMessage(message));
parentPort?.on('message', (message: ToExporter) => thread.receive(message));
