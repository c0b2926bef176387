import type { Generation } from '../../config/generations.js';
import {
  DONE,
  STREAM_INTERNAL_ERROR,
  STREAM_OK,
  type Conversation,
  type ConversationOptions,
  type SessionClient,
  type StreamResult,
  type StreamScope,
  type StreamSession,
} from '../../contract/stream.js';
import { formatAddress, type Address } from '../../contract/address.js';
import type { Timed } from '../../net/timers.js';
import type { StreamServer, StreamServerNames } from '../site/server.js';
import type { ClientEnd, SessionListener } from './client-end.js';
import type { StreamContext } from './context.js';
import { passSession } from './pass.js';
import { ReplacedClient } from './replaced-client.js';
import type { SessionFlow } from './session-flow.js';
import { CLIENT_SIDE, type SessionOwner } from './session-owner.js';
import type { SessionAttemptFacts, SessionTrace } from './upstream-trace.js';

type EndStep = (session: StreamSession) => void;

/** One client's session, whatever protocol it speaks. */
export class Session implements StreamSession, Timed {
  deadline = 0;
  slot = -1;
  status = 0;
  bytesReceived = 0;
  bytesSent = 0;
  /** The next handler in {@link StreamServer.steps}. */
  step = 0;
  /** The client's side is ready for `preread`. */
  isReady = false;
  isPrereadOver = false;
  /** `preread_timeout` was over while a handler was awaited. */
  isPrereadLate = false;
  /** Its connection is another server's. */
  isPassed = false;
  owner: SessionOwner | undefined = undefined;
  trace: SessionTrace | undefined = undefined;
  assigned: Map<string, string> | undefined = undefined;
  readonly startTime: number;
  /** Servers that were active when it began. */
  readonly names: StreamServerNames;
  server: StreamServer;
  readonly generation: Generation;
  #client: SessionClient;
  #captures: RegExpExecArray | undefined = undefined;
  #state: Map<object, unknown> | undefined = undefined;
  #endSteps: EndStep[] | undefined = undefined;
  #isOver = false;

  constructor(
    readonly context: StreamContext,
    readonly listener: SessionListener,
    readonly client: ClientEnd,
    private readonly flow: SessionFlow,
  ) {
    this.names = listener.names;
    this.server = this.names.defaultServer;
    this.startTime = context.clock.now;
    this.generation = context.generations.enter();
    context.figures.countSession(1);
    this.#client = client.facts;
    this.#logBegin();
  }

  get protocol(): StreamSession['protocol'] {
    return this.client.protocol;
  }
  get connection(): SessionClient {
    return this.#client;
  }
  get scope(): StreamScope {
    return this.server.scope;
  }
  get captures(): RegExpExecArray | undefined {
    return this.#captures;
  }
  /** Named groups that took part become variables, and stay when another expression matches. */
  set captures(captures: RegExpExecArray | undefined) {
    this.#captures = captures;
    for (const [name, value] of Object.entries(captures?.groups ?? NO_GROUPS)) if (value !== undefined) this.assign(name, value);
  }
  get preread(): Buffer {
    const { held } = this.client;
    const size = this.server.settings.prereadBufferSize;
    return held.length > size ? held.subarray(0, size) : held;
  }
  /** For the log. */
  get serverAddress(): string {
    return this.listener.serverAddress;
  }
  /** For the log: the attempt in use. */
  get upstreamTrace(): SessionAttemptFacts | undefined {
    return this.trace?.attempts.at(-1);
  }

  variable(name: string): string | undefined {
    return this.listener.variables.value(name, this);
  }

  assign(variable: string, value: string): void {
    this.assigned ??= new Map();
    this.assigned.set(variable.toLowerCase(), value);
  }

  /** Runs the next handlers. Called when the session begins, and when what it waited for has happened. */
  continue(): void {
    if (this.status === 0) this.flow.advance(this);
  }

  send(data: string | Uint8Array): StreamResult {
    if (this.status !== 0) return DONE;
    const bytes = typeof data === 'string' ? Buffer.from(data, 'latin1') : data;
    this.bytesSent += bytes.length;
    this.leaveToClient();
    this.client.send(bytes, () => this.end(STREAM_OK));
    return DONE;
  }

  pass(address: Address): StreamResult {
    return passSession(this, address);
  }

  end(status: StreamResult): void {
    if (this.status !== 0) return;
    this.status = status > 0 ? status : STREAM_INTERNAL_ERROR;
    this.context.timers.forget(this);
    const { owner } = this;
    this.owner = undefined;
    owner?.stop();
    this.flow.finish(this);
    if (!this.isPassed) this.client.close();
    this.generation.leave();
    this.context.figures.countSession(-1);
  }

  /** From now on the client's side ends it, and no handler is awaited. */
  leaveToClient(): void {
    this.leaveHandlers();
    this.owner ??= CLIENT_SIDE;
  }

  /** From now on no handler is awaited, and none speaks with the client. */
  leaveHandlers(): void {
    this.owner?.leave?.();
  }

  converse(options: ConversationOptions): Conversation {
    const conversation = this.client.converse?.(this, options);
    if (conversation === undefined) throw new Error('a conversation is a connection over TCP');
    return conversation;
  }

  chooseServer(name: string): void {
    const { server, captures } = this.names.find(name.toLowerCase());
    this.server = server;
    if (captures !== undefined) this.captures = captures;
  }

  setClientAddress(address: string, port: number): void {
    this.#client = new ReplacedClient(this.#client, address, port);
  }

  atEnd(step: EndStep): void {
    if (this.#isOver) step(this);
    else (this.#endSteps ??= []).push(step);
  }

  /** Callbacks of modules for its end. Called once. */
  takeEndSteps(): readonly EndStep[] {
    const steps = this.#endSteps ?? NO_STEPS;
    this.#endSteps = undefined;
    this.#isOver = true;
    return steps;
  }

  get(key: object): unknown {
    return this.#state?.get(key);
  }
  set(key: object, value: unknown): void {
    this.#state ??= new Map();
    this.#state.set(key, value);
  }

  onDeadline(): void {
    this.flow.timedOut(this);
  }

  #logBegin(): void {
    const { log } = this.context;
    if (!log.enabled('info', this)) return;
    const { remoteAddress, remotePort } = this.connection;
    const client = remoteAddress === 'unix:' ? remoteAddress : formatAddress({ host: remoteAddress, port: remotePort });
    log.write('info', `${this.protocol === 'UDP' ? 'udp ' : ''}client ${client} connected to ${this.serverAddress}`, this, 'number');
  }
}

const NO_GROUPS: Readonly<Record<string, string>> = {};
const NO_STEPS: readonly EndStep[] = [];
