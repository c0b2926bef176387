/**
 * A server for a module under test to be in front of: a member of an upstream whose responses the test says.
 *
 * ```ts
 * await using member = await startMember({ '/slow': { delay: 500 }, '/cut': { body: ['half of'], cutOff: true } });
 * await using srv = await startSrv({ modules: [MODULE], server: `location / { proxy_pass http://${member.address}; }` });
 * await srv.get('/a');
 * assert.equal(member.requests[0].url, '/a');
 * ```
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** One response. Absent fields are those of an empty 200. */
export interface MemberReply {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  /** As one piece with its length, or in pieces, each of which is sent when the iterator gives it. */
  readonly body?: string | Uint8Array | Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>;
  /** Milliseconds before the first byte. */
  readonly delay?: number;
  /** The connection is closed after the body, which is not ended. */
  readonly cutOff?: boolean;
  /** Bytes that are sent in the place of a response; a string is latin1. The connection is closed then. */
  readonly raw?: string | Uint8Array;
}

/** A reply, or what makes one of a request. */
export type MemberScript = MemberReply | ((request: MemberRequest) => MemberReply | Promise<MemberReply>);

/** A request that the member has received whole. */
export interface MemberRequest {
  readonly method: string;
  /** Path and arguments. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** 1-based number of its connection. */
  readonly connection: number;
}

/** A member that is running, on a free port of 127.0.0.1. */
export class TestMember {
  readonly requests: MemberRequest[] = [];
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #sockets = new Map<Socket, number>();
  readonly #scripts: Map<string, MemberScript>;
  #connections = 0;
  #port = 0;

  /** See {@link startMember}. */
  constructor(scripts: Readonly<Record<string, MemberScript>>) {
    this.#scripts = new Map(Object.entries(scripts));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.set(socket, ++this.#connections);
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  get port(): number {
    return this.#port;
  }

  /** For a `server` line or `proxy_pass`. */
  get address(): string {
    return `127.0.0.1:${this.#port}`;
  }

  /** Connections that were accepted so far. */
  get connections(): number {
    return this.#connections;
  }

  /** Says what the response to a path is from now on; `*` is any other one. */
  reply(path: string, script: MemberScript): void {
    this.#scripts.set(path, script);
  }

  /** Refuses connections from now on, and closes the existing ones. */
  async refuse(): Promise<void> {
    const closed = new Promise<void>((done) => void this.#server.close(() => done()));
    for (const socket of this.#sockets.keys()) socket.destroy();
    await closed;
  }

  /** Accepts connections, again on the same port. @throws Error if another program has the port now */
  async accept(): Promise<void> {
    await new Promise<void>((done, fail) => {
      this.#server.once('error', fail);
      this.#server.listen(this.#port, '127.0.0.1', () => {
        this.#server.off('error', fail);
        done();
      });
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  async stop(): Promise<void> {
    if (this.#server.listening) await this.refuse();
  }

  /** For `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const request = await received(incoming, this.#sockets.get(incoming.socket) ?? 0);
      this.requests.push(request);
      const [path = ''] = request.url.split('?', 1);
      const script = this.#scripts.get(path) ?? this.#scripts.get('*') ?? {};
      await respond(response, typeof script === 'function' ? await script(request) : script);
    } catch {
      // The client is gone, or the script has failed: the module under test sees a connection that is closed.
      incoming.socket.destroy();
    }
  }
}

/**
 * Starts a member. Resolves when it accepts connections.
 * @param scripts responses by path, without arguments; `*` is any other path. Without one it is an empty 200
 */
export async function startMember(scripts: Readonly<Record<string, MemberScript>> = {}): Promise<TestMember> {
  const member = new TestMember(scripts);
  await member.accept();
  return member;
}

async function received(incoming: IncomingMessage, connection: number): Promise<MemberRequest> {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const { method = '', url = '', headers, rawHeaders } = incoming;
  return { method, url, headers, rawHeaders, body: Buffer.concat(pieces), connection };
}

async function respond(response: ServerResponse, reply: MemberReply): Promise<void> {
  const { status = 200, headers = {}, body = '', delay = 0, cutOff = false, raw } = reply;
  if (delay > 0) await sleep(delay);
  if (raw !== undefined) {
    response.socket?.end(typeof raw === 'string' ? Buffer.from(raw, 'latin1') : raw);
    return;
  }
  const isWhole = typeof body === 'string' || body instanceof Uint8Array;
  if (isWhole && !cutOff) {
    const bytes = Buffer.from(body);
    response.writeHead(status, { 'content-length': bytes.length, ...headers }).end(bytes);
    return;
  }
  response.writeHead(status, headers).flushHeaders();
  for await (const piece of isWhole ? [body] : Readable.from(body)) {
    await new Promise<void>((done, fail) => response.write(piece, (error) => (error ? fail(error) : done())));
  }
  if (cutOff) response.socket?.destroySoon();
  else response.end();
}
