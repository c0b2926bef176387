/** Clients that count what they send and receive. */
import { once } from 'node:events';
import type { ClientHttp2Session } from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { Node } from '../control/node.js';

export type Counts = Record<string, number>;

/** Clients of a server under test, and the figures that it has to show after them. */
export interface Script {
  readonly files?: Readonly<Record<string, string>>;
  /** Lines of the blocks `http`, of its server, and of `stream`. */
  readonly http: string;
  readonly server?: string;
  readonly stream?: string;
  readonly run: (node: Node) => Promise<void>;
  /** All that clients have sent is counted. @param statistics body of `/v1/vts` */
  readonly isOver: (statistics: object, node: Node) => boolean;
  /** Compares each figure. @returns requests and sessions that were counted */
  readonly verify: (statistics: object, node: Node) => number | Promise<number>;
}

/** Figures as clients have counted them. */
export class Truth {
  readonly codes: Counts = {};
  readonly methods: Counts = {};
  /** As `$upstream_cache_status` of the responses says. */
  readonly cache: Counts = {};
  requests = 0;
  sent = 0;
  received = 0;

  count(method: string, status: number): void {
    this.requests++;
    this.codes[status] = (this.codes[status] ?? 0) + 1;
    this.methods[method] = (this.methods[method] ?? 0) + 1;
  }
}

/** A connection that is kept, whose bytes are counted in both directions. */
export class Client {
  #text = '';
  #isClosed = false;
  #arrived: () => void = () => undefined;

  private constructor(
    readonly socket: Socket,
    private readonly truth: Truth,
  ) {
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.#isClosed = true;
      this.#arrived();
    });
    socket.on('data', (piece: Buffer) => {
      this.truth.received += piece.length;
      this.#text += piece.toString('latin1');
      this.#arrived();
    });
  }

  static async open(port: number, truth: Truth): Promise<Client> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Client(socket, truth);
  }

  async request(method: string, path: string, { headers = '', body = '' } = {}): Promise<number> {
    const text = `${method} ${path} HTTP/1.1\r\nHost: a\r\n${headers}${body === '' ? '' : `Content-Length: ${body.length}\r\n`}\r\n${body}`;
    this.truth.sent += text.length;
    this.socket.write(text);
    for (;;) {
      const end = this.#text.indexOf('\r\n\r\n');
      const head = this.#text.slice(0, end);
      const length = method === 'HEAD' ? 0 : Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (end >= 0 && this.#text.length >= end + 4 + length) {
        this.#text = this.#text.slice(end + 4 + length);
        const status = Number(head.slice(9, 12));
        this.truth.count(method, status);
        const cache = /x-cache: (\w+)/i.exec(head)?.[1]?.toLowerCase();
        if (cache !== undefined) this.truth.cache[cache] = (this.truth.cache[cache] ?? 0) + 1;
        return status;
      }
      if (this.#isClosed) throw new Error(`the connection was closed before the response to ${method} ${path}`);
      await new Promise<void>((resolve) => (this.#arrived = resolve));
    }
  }
}

/** Sends a request on a connection of its own. @returns what was received until `isOver` or the end of the connection */
export async function raw(port: number, text: string, isOver: (received: string) => boolean = () => false): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.write(text);
  for await (const piece of socket) {
    received += String(piece);
    if (isOver(received)) break;
  }
  socket.destroy();
  return received;
}

/** Sends a request, and leaves when a member has it. */
export async function abort(port: number, path: string, arrived: Promise<unknown>): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await arrived;
  socket.destroy();
}

export async function overHttp2(session: ClientHttp2Session, path: string): Promise<void> {
  const stream = session.request({ ':path': path });
  stream.resume();
  await once(stream, 'end');
}
