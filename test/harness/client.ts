/** Clients for the tests: raw bytes over TCP, and simple requests. */
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ExecutionContext } from 'ava';
import { waitFor } from './wait.js';

/** A connection that sends given bytes and keeps all that comes. Bytes are latin1 characters. */
export class RawConnection {
  received = '';
  /** The other side has ended it, or it was reset. */
  closed = false;

  constructor(readonly socket: Socket) {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => (this.received += text));
    socket.on('error', () => (this.closed = true));
    socket.on('end', () => (this.closed = true));
    socket.on('close', () => (this.closed = true));
  }

  send(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  /** Waits until what was received matches; resolves with the match. Rejects when the connection ends without it. */
  receive(pattern: RegExp, timeoutMs?: number): Promise<RegExpExecArray> {
    return waitFor(
      `${String(pattern)} on the connection`,
      () => {
        const match = pattern.exec(this.received);
        if (!match && this.closed) throw new Error(`closed before ${String(pattern)}, received: ${JSON.stringify(this.received)}`);
        return match ?? undefined;
      },
      timeoutMs,
    );
  }

  /** Waits for the other side to close; resolves with all that came. */
  async receiveAll(timeoutMs?: number): Promise<string> {
    await waitFor(`the end of the connection, received ${JSON.stringify(this.received)}`, () => this.closed, timeoutMs);
    return this.received;
  }

  /** Text that came so far; the next {@link receive} starts after it. */
  take(): string {
    const taken = this.received;
    this.received = '';
    return taken;
  }
}

/** Connects to a loopback port, or to a unix socket when `to` is a path. */
export function connectRaw(t: ExecutionContext, to: number | string): Promise<RawConnection> {
  const socket = typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to);
  return connected(t, socket, 'connect');
}

export function connectRawTls(t: ExecutionContext, port: number, options: ConnectionOptions = {}): Promise<RawConnection> {
  return connected(t, connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }), 'secureConnect');
}

function connected(t: ExecutionContext, socket: Socket, event: string): Promise<RawConnection> {
  t.teardown(() => socket.destroy());
  return new Promise((resolve, reject) => {
    // A failed handshake can be reported twice.
    socket.on('error', reject);
    socket.once(event, () => resolve(new RawConnection(socket)));
  });
}

/** Sends bytes on a new connection and resolves with everything that comes until the other side closes. */
export async function exchange(t: ExecutionContext, to: number | string, bytes: string, timeoutMs?: number): Promise<string> {
  const connection = await connectRaw(t, to);
  connection.send(bytes);
  return connection.receiveAll(timeoutMs);
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string | Buffer;
  readonly timeoutMs?: number;
  /** Address that the connection comes from. */
  readonly localAddress?: string;
}

/** One request on a connection of its own to a loopback port. */
export function get(port: number, path: string, options: RequestOptions = {}): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: '127.0.0.1',
        port,
        path,
        method: options.method ?? 'GET',
        headers: options.headers,
        agent: false,
        ...(options.localAddress !== undefined && { localAddress: options.localAddress }),
        timeout: options.timeoutMs ?? 15_000,
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            rawHeaders: response.rawHeaders,
            body: Buffer.concat(chunks).toString(),
          }),
        );
      },
    );
    request.once('timeout', () => request.destroy(new Error(`no response from port ${port} for ${path}`)));
    request.once('error', reject);
    // Header fields are bytes; in front of a string Node.js would write them as UTF-8.
    request.end(typeof options.body === 'string' ? Buffer.from(options.body) : options.body);
  });
}

/** A request with a JSON body; the response's body parsed, undefined when it is empty. */
export async function json(
  port: number,
  method: string,
  path: string,
  body?: unknown,
  headers: OutgoingHttpHeaders = {},
): Promise<JsonResponse> {
  const answer = await get(port, path, {
    method,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { ...answer, json: answer.body === '' ? undefined : (JSON.parse(answer.body) as unknown) };
}

export interface JsonResponse extends HttpResponse {
  readonly json: unknown;
}
