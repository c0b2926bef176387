/**
 * Streams of the API for all pages of a browser, as a shared worker: a browser has six connections to a server over HTTP/1.1, for all of its pages, and
 * a stream holds one. Pages that follow the same stream with the same token share it.
 */
import { CallError, readStream, UNREACHABLE, type StreamEvent } from './event-stream.js';
import type { Failure, Join, ToPage, ToWorker } from './stream-messages.js';

/** Streams at the same time; the rest of the connections is for calls. Figures and events of a page are admitted in any case. */
const MOST = 5;
/** Streams whose events are kept while no page follows them. */
const MOST_KEPT = 8;

interface Reader {
  readonly port: MessagePort;
  readonly number: number;
}

/** One connection, and the pages that it is for. */
class SharedStream {
  readonly readers = new Set<Reader>();
  readonly #kept: StreamEvent[] = [];
  #stop: AbortController | undefined;
  #isAdmitted = false;

  constructor(private readonly stream: Omit<Join, 'number'>) {}

  get isOpen(): boolean {
    return this.#stop !== undefined;
  }

  join(reader: Reader, after: string | undefined): void {
    this.readers.add(reader);
    if (this.#isAdmitted) send(reader, { number: reader.number, isOpen: true });
    const place = this.#kept.findLastIndex(({ id }) => id !== '' && id === after);
    const known = this.#kept.slice(place + 1);
    if (known.length > 0) send(reader, { number: reader.number, events: known });
    if (!this.isOpen) void this.#follow(this.#kept.at(-1)?.id ?? after);
  }

  leave(reader: Reader): void {
    if (this.readers.delete(reader) && this.readers.size === 0) this.#close();
  }

  async #follow(after: string | undefined): Promise<void> {
    const { url, token } = this.stream;
    const stop = new AbortController();
    this.#stop = stop;
    const whole = after === undefined ? url : `${url}?last_event_id=${encodeURIComponent(after)}`;
    const end = await readStream(whole, {
      token,
      signal: stop.signal,
      onOpen: () => this.#opened(),
      onEvent: (event) => this.#happened(event),
    }).then(() => undefined, failureOf);
    if (this.#stop !== stop) return;
    this.#close();
    for (const reader of this.readers) send(reader, { number: reader.number, end });
    this.readers.clear();
  }

  #opened(): void {
    this.#isAdmitted = true;
    for (const reader of this.readers) send(reader, { number: reader.number, isOpen: true });
  }

  #happened(event: StreamEvent): void {
    this.#kept.push(event);
    if (this.#kept.length > this.stream.kept) this.#kept.shift();
    for (const reader of this.readers) send(reader, { number: reader.number, events: [event] });
  }

  #close(): void {
    this.#stop?.abort();
    this.#stop = undefined;
    this.#isAdmitted = false;
    // Events have ids, and stay what they were; figures are old when the stream begins again.
    if (this.stream.after === undefined) this.#kept.length = 0;
  }
}

const streams = new Map<string, SharedStream>();

function join(port: MessagePort, { number, ...stream }: Join): void {
  const key = JSON.stringify([stream.url, stream.token]);
  const shared = streams.get(key) ?? new SharedStream(stream);
  const open = [...streams.values()].filter(({ isOpen }) => isOpen).length;
  if (!shared.isOpen && stream.kept === 0 && open >= MOST) {
    const text = `the pages of this browser follow ${MOST} streams already: close one that shows a log`;
    send({ port, number }, { number, end: { status: 429, code: 'TooManyStreams', text, details: [] } });
    return;
  }
  // The last one is the one that was used last.
  streams.delete(key);
  streams.set(key, shared);
  shared.join({ port, number }, stream.after);
  for (const [other, { isOpen }] of streams) if (!isOpen && streams.size > MOST_KEPT) streams.delete(other);
}

/** @param number undefined: all that the page follows */
function leave(port: MessagePort, number?: number): void {
  for (const stream of streams.values())
    for (const reader of stream.readers)
      if (reader.port === port && (number === undefined || reader.number === number)) stream.leave(reader);
}

function send({ port }: Reader, message: ToPage): void {
  port.postMessage(message);
}

function failureOf(error: unknown): Failure {
  const { status, code, message, details } = error instanceof CallError ? error : UNREACHABLE;
  return { status, code, text: message, details };
}

addEventListener('connect', (event) => {
  const [port] = (event as MessageEvent).ports;
  if (port === undefined) return;
  port.addEventListener('message', ({ data }: MessageEvent<ToWorker>) => {
    if (data === 'bye') leave(port);
    else if ('leave' in data) leave(port, data.leave);
    else join(port, data);
  });
  // Of a page that has crashed, where the browser says so.
  port.addEventListener('close', () => leave(port));
  port.start();
});
