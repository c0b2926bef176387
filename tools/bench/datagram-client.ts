// Sends datagrams and waits for their echoes: node datagram-client.js PORT CLIENTS AT_ONCE BYTES
// Each message of its parent is a number of seconds; when they are over it sends a DatagramReport.
import { createSocket, type Socket } from 'node:dgram';

/** Results for the datagrams of some seconds. */
export interface DatagramReport {
  /** Datagrams that came back. */
  readonly echoes: number;
  readonly lost: number;
}

/** A datagram that has not come back after as many milliseconds is lost, and another one takes its place. */
const LOST_AFTER = 200;

const [port = 0, clients = 0, atOnce = 0, bytes = 0] = process.argv.slice(2).map(Number);
const PAYLOAD = Buffer.alloc(bytes, 'x');

/** One socket, with as many datagrams under way as it may have. */
class Client {
  echoes = 0;
  lost = 0;
  #isRunning = false;
  #underWay = 0;
  #lastEcho = 0;

  constructor(private readonly socket: Socket) {
    socket.on('message', ({ length }) => this.#take(length));
    // There is no listener: nothing comes back, as the report shows.
    socket.on('error', () => undefined);
  }

  start(): void {
    this.#isRunning = true;
    this.#lastEcho = performance.now();
    this.#fill();
  }

  stop(): void {
    this.#isRunning = false;
  }

  /** Replaces what was lost on the way. */
  look(): void {
    if (performance.now() - this.#lastEcho < LOST_AFTER) return;
    this.lost += this.#underWay;
    this.#underWay = 0;
    this.#fill();
  }

  #fill(): void {
    while (this.#underWay < atOnce) this.#send();
  }

  #send(): void {
    this.#underWay++;
    this.socket.send(PAYLOAD);
  }

  #take(length: number): void {
    if (length !== bytes) return;
    this.echoes++;
    this.#underWay--;
    this.#lastEcho = performance.now();
    if (this.#isRunning) this.#send();
  }
}

function run(all: readonly Client[], seconds: number): void {
  const count = (of: (client: Client) => number): number => all.reduce((sum, client) => sum + of(client), 0);
  const [echoes, lost] = [count((client) => client.echoes), count((client) => client.lost)];
  for (const client of all) client.start();
  const looking = setInterval(() => {
    for (const client of all) client.look();
  }, LOST_AFTER);
  setTimeout(() => {
    clearInterval(looking);
    for (const client of all) client.stop();
    const report = { echoes: count((client) => client.echoes) - echoes, lost: count((client) => client.lost) - lost };
    process.send?.(report satisfies DatagramReport);
  }, seconds * 1000);
}

const sockets = Array.from({ length: clients }, () => createSocket('udp4'));
await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.connect(port, '127.0.0.1', resolve))));
const all = sockets.map((socket) => new Client(socket));
process.on('message', (seconds) => run(all, Number(seconds)));
process.send?.('ready');
