/**
 * Sessions of `stream` for unit tests: handlers of a module called without a server.
 *
 * ```ts
 * const session = fakeSession({ preread: 'sesame' });
 * assert.equal(handlers.preread(session), DECLINED);
 * ```
 */
import type { Address } from '../core/contract/address.js';
import {
  DONE,
  STREAM_OK,
  type Conversation,
  type SessionClient,
  type StreamResult,
  type StreamScope,
  type StreamSession,
} from '../core/contract/stream.js';
import { fakeScope } from './scope.js';

/** Properties of a session; the others are those of a TCP client at 127.0.0.1 that has sent nothing. */
export interface FakeSessionOptions {
  readonly protocol?: 'TCP' | 'UDP';
  readonly connection?: Partial<SessionClient>;
  /** Data of the client; a string is bytes (latin1). */
  readonly preread?: string | Buffer;
  /** By name, without the dollar. */
  readonly variables?: Readonly<Record<string, string>>;
  readonly scope?: StreamScope;
}

const CONNECTION: SessionClient = {
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
};

/** The client that a handler speaks with. The data of the session comes first. */
export class FakeConversation implements Conversation {
  /** Data that the handler has written, as bytes (latin1). */
  written = '';
  /** A test may set it: {@link write} returns false until {@link drain} is called. */
  isSlow = false;
  #hasEnded = false;
  #received: ((bytes: Buffer | undefined) => void) | undefined;
  #drained = Promise.withResolvers<void>();

  constructor(private readonly session: FakeSession) {
    session.atEnd(() => this.end());
  }

  /** The client sends this. */
  send(data: string | Buffer): void {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    this.session.bytesReceived += bytes.length;
    this.session.preread = Buffer.concat([this.session.preread, bytes]);
    this.#settle();
  }

  /** The client sends no more. */
  end(): void {
    this.#hasEnded = true;
    this.#drained.resolve();
    this.#settle();
  }

  /** The client has caught up. */
  drain(): void {
    this.isSlow = false;
    this.#drained.resolve();
    this.#drained = Promise.withResolvers();
  }

  read(): Promise<Buffer | undefined> {
    const { promise, resolve } = Promise.withResolvers<Buffer | undefined>();
    this.#received = resolve;
    this.#settle();
    return promise;
  }

  unread(bytes: Buffer): void {
    this.session.preread = Buffer.concat([bytes, this.session.preread]);
  }

  write(data: string | Uint8Array): boolean {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : Buffer.from(data);
    this.written += bytes.toString('latin1');
    this.session.bytesSent += bytes.length;
    return !this.isSlow;
  }

  drained(): Promise<void> {
    return this.isSlow && !this.#hasEnded ? this.#drained.promise : Promise.resolve();
  }

  #settle(): void {
    const { session } = this;
    if (this.#received === undefined || (session.preread.length === 0 && !this.#hasEnded)) return;
    this.#received(session.preread.length === 0 ? undefined : session.preread);
    this.#received = undefined;
    session.preread = Buffer.alloc(0);
  }
}

/** Variables of a server that follow from the session itself. */
const SESSION_VARIABLES: ReadonlyMap<string, (session: StreamSession) => string> = new Map(
  Object.entries({
    remote_addr: ({ connection }) => connection.remoteAddress,
    remote_port: ({ connection }) => String(connection.remotePort),
    server_addr: ({ connection }) => connection.localAddress,
    server_port: ({ connection }) => String(connection.localPort),
    protocol: ({ protocol }) => protocol,
    status: ({ status }) => String(status),
  }),
);

/** A session that notes what is done with it. */
export class FakeSession implements StreamSession {
  readonly protocol: 'TCP' | 'UDP';
  connection: SessionClient;
  readonly startTime = Date.now();
  /** Set by {@link end} and {@link send}. */
  status = 0;
  bytesReceived: number;
  bytesSent = 0;
  readonly scope: StreamScope;
  /** A test may give it more, and call the handler again. */
  preread: Buffer;
  /** Set by a test that has given it everything. */
  isPrereadOver = false;
  captures: RegExpExecArray | undefined;
  /** Argument of {@link send}, as bytes (latin1). */
  sent: string | undefined;
  /** The client of {@link converse}; undefined: it was not called. */
  conversation: FakeConversation | undefined;
  /** Argument of {@link pass}. */
  passed: Address | undefined;
  /** Argument of {@link chooseServer}. */
  chosen: string | undefined;
  readonly assigned = new Map<string, string>();
  readonly #endSteps: ((session: StreamSession) => void)[] = [];
  readonly #variables: ReadonlyMap<string, string>;
  readonly #state = new Map<object, unknown>();

  constructor({ protocol = 'TCP', connection = {}, preread = '', variables = {}, scope }: FakeSessionOptions) {
    this.protocol = protocol;
    this.connection = { ...CONNECTION, ...connection };
    this.preread = typeof preread === 'string' ? Buffer.from(preread, 'latin1') : preread;
    this.bytesReceived = this.preread.length;
    this.scope = scope ?? (fakeScope({}) as unknown as StreamScope);
    this.#variables = new Map(Object.entries(variables));
  }

  variable(name: string): string | undefined {
    return this.assigned.get(name) ?? this.#variables.get(name) ?? SESSION_VARIABLES.get(name)?.(this);
  }

  assign(variable: string, value: string): void {
    this.assigned.set(variable, value);
  }

  send(data: string | Uint8Array): StreamResult {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : Buffer.from(data);
    this.sent = bytes.toString('latin1');
    this.bytesSent += bytes.length;
    this.end(STREAM_OK);
    return DONE;
  }

  converse(): FakeConversation {
    if (this.protocol === 'UDP') throw new Error('a conversation is a connection over TCP');
    return (this.conversation = new FakeConversation(this));
  }

  pass(address: Address): StreamResult {
    this.passed = address;
    return DONE;
  }

  /** Runs what {@link atEnd} was given. */
  end(status: StreamResult): void {
    if (this.status !== 0) return;
    this.status = status;
    for (const step of this.#endSteps.splice(0)) step(this);
  }

  chooseServer(name: string): void {
    this.chosen = name;
  }

  setClientAddress(remoteAddress: string, remotePort: number): void {
    this.connection = { ...this.connection, remoteAddress, remotePort };
  }

  atEnd(step: (session: StreamSession) => void): void {
    if (this.status === 0) this.#endSteps.push(step);
    else step(this);
  }

  get(key: object): unknown {
    return this.#state.get(key);
  }

  set(key: object, value: unknown): void {
    this.#state.set(key, value);
  }
}

export function fakeSession(options: FakeSessionOptions = {}): FakeSession {
  return new FakeSession(options);
}
