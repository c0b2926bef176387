/**
 * Requests for unit tests: handlers of a module called without a server.
 *
 * ```ts
 * const handlers = new Greeting().compile(fakeScope(Greeting, { greeting: 'hello' }));
 * const request = fakeRequest({ uri: '/a' });
 * handlers.content(request);
 * assert.deepEqual(request.sent, { status: 200, body: 'hello', contentType: undefined });
 * ```
 */
import type { ExplainNotes } from '../core/contract/explain.js';
import { ApiError } from '../core/contract/control.js';
import type { ClientConnection } from '../core/contract/client-connection.js';
import {
  type BodySource,
  DONE,
  type HttpRequest,
  type OpenSubrequest,
  type RequestObserver,
  type ResponseHeaders,
  type Result,
  type Scope,
  type Subrequest,
} from '../core/contract/http.js';
import { fieldLine } from '../core/contract/message-text.js';
import type { Directive } from '../core/contract/tree.js';
import { requestVariable } from './request-variables.js';
import { FakeResponseBody } from './response-body.js';
import { fakeScope } from './scope.js';

/** Properties of a request; the others are those of `GET / HTTP/1.1` to `localhost`. */
export interface FakeRequestOptions {
  readonly method?: string;
  /** Path without arguments, decoded. */
  readonly uri?: string;
  readonly args?: string;
  readonly host?: string;
  readonly protocol?: string;
  /** Names in any case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly trailers?: Readonly<Record<string, string>>;
  /** By name, without the dollar. Those of the request itself need not be given. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly connection?: Partial<ClientConnection>;
  /** Status of the response, for filters. */
  readonly status?: number;
  readonly defaultType?: string;
  readonly scope?: Scope;
  /** Responses of subrequests by their URIs: a status, or one with a body. */
  readonly subrequests?: Readonly<Record<string, number | { readonly status: number; readonly body: string | Uint8Array }>>;
}

/** Response that a handler has sent. */
export interface Sent {
  readonly status: number;
  readonly body: string;
  readonly contentType: string | undefined;
}

const CONNECTION: ClientConnection = {
  id: 1,
  remoteAddress: '127.0.0.1',
  remotePort: 40_000,
  localAddress: '127.0.0.1',
  localPort: 80,
  secure: false,
  serverName: undefined,
  tls: undefined,
  proxy: undefined,
  certificate: undefined,
  clientAuthority: undefined,
  acceptedAt: 0,
  requests: 1,
  isPipelined: false,
};

/** A request that notes what is done with it. */
export class FakeRequest implements HttpRequest {
  connection: ClientConnection;
  readonly method: string;
  uri: string;
  args: string;
  readonly requestUri: string;
  readonly protocol: string;
  readonly host: string;
  readonly startTime = Date.now();
  readonly headTime = 0;
  readonly attempts = [];
  get elapsed(): number {
    return Date.now() - this.startTime;
  }
  readonly requestId = '0'.repeat(32);
  readonly internal = false;
  readonly isForProxy = false;
  readonly parent = undefined;
  explanation: ExplainNotes | undefined = undefined;
  captures: RegExpExecArray | undefined;
  status: number;
  readonly response = new FakeHeaders();
  /** Fields for the upstream instead of the client's fields. */
  readonly upstream = new FakeHeaders();
  readonly scope: Scope;
  readonly defaultType: string;
  readonly bytesReceived = 0;
  readonly bytesSent = 0;
  readonly bodyBytesSent = 0;
  /** Arguments of {@link send}. */
  sent: Sent | undefined;
  /** Arguments of {@link reject}. */
  rejected: Sent | undefined;
  /** Arguments of {@link respond}, and the written body. */
  streamed: FakeResponseBody | undefined;
  /** Arguments of {@link sendFrom}. */
  sourced: { readonly status: number; readonly source: BodySource; readonly contentType: string | undefined } | undefined;
  /** URIs of subrequests. */
  readonly subrequests: string[] = [];
  /** Arguments of {@link assign}. */
  readonly assigned = new Map<string, string>();
  /** The block that {@link enterBlock} was called with. */
  entered: Directive | undefined;
  /** Target of {@link redirect} or {@link redirectNamed}: `/path?args`, `@name`. */
  redirected: string | undefined;
  /** Arguments of {@link observe}. */
  readonly observers: RequestObserver[] = [];
  /** Milliseconds of the last {@link delay}. */
  delayed: number | undefined;
  readonly #aborting = new AbortController();
  readonly #endSteps: ((request: HttpRequest) => void)[] = [];
  readonly #headers: ReadonlyMap<string, string>;
  readonly #trailers: Readonly<Record<string, string>>;
  readonly #body: Buffer;
  readonly #variables: ReadonlyMap<string, string>;
  readonly #subrequests: NonNullable<FakeRequestOptions['subrequests']>;
  readonly #state = new Map<object, unknown>();

  constructor(options: FakeRequestOptions) {
    const { method = 'GET', uri = '/', args = '', host = 'localhost', protocol = 'HTTP/1.1', headers = {}, body = '' } = options;
    this.connection = { ...CONNECTION, ...options.connection };
    this.method = method;
    this.uri = uri;
    this.args = args;
    this.requestUri = args === '' ? uri : `${uri}?${args}`;
    this.protocol = protocol;
    this.host = host;
    this.status = options.status ?? 200;
    this.scope = options.scope ?? fakeScope({});
    this.defaultType = options.defaultType ?? 'text/plain';
    this.#headers = new Map(Object.entries({ host, ...headers }).map(([name, value]) => [name.toLowerCase(), value]));
    this.#trailers = options.trailers ?? {};
    this.#body = Buffer.from(body);
    this.#variables = new Map(Object.entries(options.variables ?? {}));
    this.#subrequests = options.subrequests ?? {};
  }

  header(lowerName: string): string | undefined {
    return this.#headers.get(lowerName);
  }

  headers(): [name: string, value: string][] {
    return [...this.#headers];
  }

  readonly hasBody = false;

  trailers(): [name: string, value: string][] {
    return Object.entries(this.#trailers);
  }

  /** A variable of the test, or that of a server for what the request has: `uri`, `args`, `arg_x`, `http_x`, `cookie_x`, `remote_addr` and so on. */
  variable(name: string): string | undefined {
    return this.assigned.get(name) ?? this.#variables.get(name) ?? requestVariable(this, name);
  }

  async readBody(limit: number): Promise<Buffer> {
    if (this.#body.length > limit) throw new ApiError(413, 'BodyTooLarge', `the request body is longer than ${limit} bytes`);
    return this.#body;
  }

  /** The body in one piece. */
  async *streamBody(limit: number): AsyncGenerator<Buffer, undefined> {
    yield await this.readBody(limit);
    return undefined;
  }

  send(status: number, body: string | Uint8Array, contentType?: string): Result {
    this.#begin(status);
    this.sent = { status, body: Buffer.from(body).toString(), contentType };
    return DONE;
  }

  respond(status: number, contentType?: string, length = -1): FakeResponseBody {
    this.#begin(status);
    this.streamed = new FakeResponseBody(status, contentType, length);
    return this.streamed;
  }

  sendFrom(status: number, source: BodySource, contentType?: string): Result {
    this.#begin(status);
    this.sourced = { status, source, contentType };
    return DONE;
  }

  /** Responds with what {@link FakeRequestOptions.subrequests} has for the URI, or 404. */
  subrequest(uri: string): Promise<Subrequest> {
    this.subrequests.push(uri);
    const found = this.#subrequests[uri] ?? 404;
    const { status, body } = typeof found === 'number' ? { status: found, body: '' } : found;
    return Promise.resolve({ status, body: Buffer.from(body), request: new FakeRequest({ uri, status }) });
  }

  /** As {@link subrequest}: the body comes in one piece. */
  async openSubrequest(uri: string): Promise<OpenSubrequest> {
    const { status, body, request } = await this.subrequest(uri);
    return { status, request, body: inOnePiece(body) };
  }

  /** It is stored already. */
  storeBody(): undefined {
    return undefined;
  }

  redirect(uri: string, args = ''): Result {
    this.redirected = args === '' ? uri : `${uri}?${args}`;
    return DONE;
  }

  redirectNamed(name: string): Result {
    this.redirected = name;
    return DONE;
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  /** The client is gone. */
  abort(): void {
    this.#aborting.abort();
    this.streamed?.abort();
  }

  #begin(status: number): void {
    if (this.sent !== undefined || this.streamed !== undefined || this.sourced !== undefined)
      throw new Error('the response was started already');
    this.status = status;
  }

  reject(status: number, body: string | Uint8Array, contentType?: string): Result {
    this.rejected = { status, body: Buffer.from(body).toString(), contentType };
    return status;
  }

  delay(ms: number): Result {
    this.delayed = ms;
    return DONE;
  }

  atEnd(step: (request: HttpRequest) => void): void {
    this.#endSteps.push(step);
  }

  observe(observer: RequestObserver): void {
    this.observers.push(observer);
  }

  /** Ends it: runs what {@link atEnd} was given. */
  end(): void {
    for (const step of this.#endSteps.splice(0)) step(this);
  }

  assign(variable: string, value: string): void {
    this.assigned.set(variable, value);
  }

  rewrite(uri: string, args: string): void {
    this.uri = uri;
    this.args = args;
  }

  relocate(): Result {
    this.redirected = this.args === '' ? this.uri : `${this.uri}?${this.args}`;
    return DONE;
  }

  enterBlock(block: Directive): void {
    this.entered = block;
  }

  setClientAddress(remoteAddress: string, remotePort: number): void {
    this.connection = { ...this.connection, remoteAddress, remotePort };
  }

  get(key: object): unknown {
    return this.#state.get(key);
  }

  set(key: object, value: unknown): void {
    this.#state.set(key, value);
  }
}

/** Fields of a response, as a real one has them. */
class FakeHeaders implements ResponseHeaders {
  readonly #trailers: (readonly [name: string, value: () => string])[] = [];
  allowsRanges = false;
  #fields: readonly (readonly [name: string, value: string])[] = [];

  /** All of them, in order. */
  get all(): readonly (readonly [name: string, value: string])[] {
    return this.#fields;
  }

  entries(): Iterable<readonly [name: string, value: string]> {
    return this.#fields;
  }

  get(name: string): string | undefined {
    return this.#fields.find(([other]) => isSame(other, name))?.[1];
  }

  set(name: string, value: string): void {
    this.remove(name);
    this.append(name, value);
  }

  /** @throws TypeError for what cannot be sent, as a real one does */
  append(name: string, value: string): void {
    fieldLine(name, value);
    this.#fields = [...this.#fields, [name, value]];
  }

  remove(name: string): void {
    this.#fields = this.#fields.filter(([other]) => !isSame(other, name));
  }

  /** The values are those of now. */
  get trailers(): readonly (readonly [name: string, value: string])[] {
    return this.#trailers.map(([name, value]) => [name, value()] as const).filter(([, value]) => value !== '');
  }

  appendTrailer(name: string, value: () => string): void {
    this.#trailers.push([name, value]);
  }
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

export function fakeRequest(options: FakeRequestOptions = {}): FakeRequest {
  return new FakeRequest(options);
}

/** A body that was opened, as one piece. */
export async function* inOnePiece(body: Buffer): AsyncGenerator<Buffer, undefined> {
  yield await Promise.resolve(body);
  return undefined;
}
