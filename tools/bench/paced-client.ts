// Sends requests at a fixed rate over keep-alive connections: node paced-client.js PORT RATE CONNECTIONS
// Each message of its parent is a number of seconds; when they are over it sends a PacedReport.
import { connect, type Socket } from 'node:net';
import { percentile } from './statistics.js';

/** Results for the requests of some seconds. */
export interface PacedReport {
  readonly requests: number;
  /** Connections that failed, or were closed for a response that was no success. */
  readonly failed: number;
  /** Milliseconds from the moment a request was due. */
  readonly p99: number;
}

const REQUEST = 'GET /1k HTTP/1.1\r\nHost: bench\r\n\r\n';
const BODY = 1024;

const [port = 0, rate = 0, connections = 0] = process.argv.slice(2).map(Number);

/** One connection: a request, its response, the next. */
class Client {
  readonly #socket: Socket;
  #dueAt = 0;
  #received = 0;
  #expected = Infinity;
  #head = '';

  constructor(
    private readonly done: (client: Client, milliseconds: number) => void,
    private readonly failed: () => void,
  ) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#socket.on('error', () => this.#socket.destroy());
    this.#socket.on('close', () => this.failed());
  }

  send(dueAt: number): void {
    this.#dueAt = dueAt;
    this.#received = 0;
    this.#expected = Infinity;
    this.#head = '';
    this.#socket.write(REQUEST);
  }

  close(): void {
    this.#socket.removeAllListeners('close');
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#expected === Infinity) {
      this.#head += chunk.toString('latin1');
      const end = this.#head.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!this.#head.startsWith('HTTP/1.1 200 ')) return void this.#socket.destroy();
      this.#expected = end + 4 + BODY;
    }
    if (this.#received >= this.#expected) this.done(this, performance.now() - this.#dueAt);
  }
}

/** Arrivals as they are in life: independent of each other, so that some come together. The same ones in every run. */
function arrivals(): () => number {
  let state = 42;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (-Math.log((state + 1) / 2 ** 32) * 1000) / rate;
  };
}

function run(seconds: number): void {
  const free: Client[] = [];
  /** When requests were due that found no free connection. */
  const late: number[] = [];
  const latencies: number[] = [];
  let requests = 0;
  let failed = 0;
  const done = (client: Client, milliseconds: number): void => {
    latencies.push(milliseconds);
    const next = late.shift();
    if (next === undefined) free.push(client);
    else client.send(next);
  };
  const clients = Array.from({ length: connections }, () => new Client(done, () => failed++));
  free.push(...clients);
  const gap = arrivals();
  const end = performance.now() + seconds * 1000;
  let due = performance.now();
  // A timer is too coarse: it would send what falls into a millisecond at once, and the server would wake up once for all of it.
  const turn = (): void => {
    const now = performance.now();
    while (due <= now) {
      const client = free.shift();
      if (client === undefined) late.push(due);
      else client.send(due);
      requests++;
      due += gap();
    }
    if (now < end) return void setImmediate(turn);
    for (const client of clients) client.close();
    process.send?.({ requests, failed, p99: percentile(latencies, 0.99) } satisfies PacedReport);
  };
  turn();
}

process.on('message', (seconds) => run(Number(seconds)));
