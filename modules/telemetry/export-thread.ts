/** The thread that sends spans to a collector: encoding them and waiting for it costs requests nothing. */
import { parentPort } from 'node:worker_threads';
import { WAITING, type FromExporter, type ToExporter } from './export-messages.js';
import { SpanExporter } from './span-exporter.js';
import type { SpanRecord } from './span-records.js';

type Configure = Extract<ToExporter, { kind: 'configure' }>;

class ExportThread {
  #exporter: SpanExporter | undefined;
  /** Connections that wait for the main thread, by number. */
  readonly #asking = new Map<number, (rejection: string | undefined) => void>();
  #lastAsked = 0;

  constructor(private readonly tell: (message: FromExporter) => void) {}

  receive(message: ToExporter): void {
    switch (message.kind) {
      case 'configure':
        this.#configure(message);
        break;
      case 'spans':
        this.#exporter?.add(parsed(message.spans));
        break;
      case 'permission':
        this.#asking.get(message.id)?.(message.rejection);
        this.#asking.delete(message.id);
        break;
      case 'finish':
        void this.#finish();
        break;
    }
  }

  #configure({ settings, memory }: Configure): void {
    const shared = new Int32Array(memory);
    const former = this.#exporter;
    const waiting = former?.takeWaiting() ?? [];
    this.#exporter = new SpanExporter(
      settings,
      (host, port) => this.#assertAllowed(host, port),
      this.tell,
      (count) => Atomics.store(shared, WAITING, count),
    );
    void former?.finish();
    this.#exporter.add(waiting);
  }

  async #finish(): Promise<void> {
    await this.#exporter?.finish();
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

/** Texts of requests are bytes: here they become characters, all at once. */
function parsed(spans: string): readonly SpanRecord[] {
  return JSON.parse(Buffer.from(spans, 'latin1').toString()) as readonly SpanRecord[];
}

const thread = new ExportThread((message) => parentPort?.postMessage(message));
parentPort?.on('message', (message: ToExporter) => thread.receive(message));
