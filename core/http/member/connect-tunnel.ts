import { formatAddress } from '../../contract/address.js';
import type { ExplainNotes } from '../../contract/explain.js';
import type { ConnectionEnd } from '../../contract/client-connection.js';
import type { Handler, HttpRequest, Result } from '../../contract/http.js';
import { Tunnels } from '../../contract/tunnel.js';
import type { MemberTunnelPlan, TunnelFacts, TunnelPlan } from '../../contract/tunnel.js';
import { PeerConnection, type PeerUser } from '../../net/peer-connection.js';
import type { Timed } from '../../net/timers.js';
import type { RequestOwner } from '../request/client-stream.js';
import { OwnField } from '../request/context.js';
import type { Request } from '../request/request.js';
import type { AttemptObserver } from '../../run/attempt-observer.js';
import { attemptEnded, attemptObserver } from './attempt-observer.js';
import type { AttemptFacts, UpstreamTrace } from '../request/upstream-trace.js';
import { sendFailure, startResponse } from '../response/response.js';
import type { HttpExchanges } from './http-exchanges.js';
import { tunnelExchangePlan } from './tunnel-exchange-plan.js';
import { TunnelRelay } from './tunnel-relay.js';

/** Milliseconds after which the next address is tried while the one before has not connected (RFC 8305, 5: Connection Attempt Delay). */
const ATTEMPT_DELAY = 250;

/** One address that is tried. */
class TunnelAttempt implements AttemptFacts, PeerUser {
  readonly address: string;
  readonly connection: PeerConnection;
  readonly first = false;
  readonly isAsked = true;
  readonly url = '';
  readonly isReused = false;
  readonly queueTime = -1;
  headerTime = -1;
  readonly headLength = 0;
  status = 0;
  connectTime = -1;
  responseTime = -1;
  received = 0;
  failure = '';
  #isOver = false;
  readonly startTime: number;

  constructor(
    private readonly tunnel: ConnectTunnel,
    readonly end: ConnectionEnd,
    from: ConnectionEnd | undefined,
    readonly number: number,
    /** Undefined: nothing looks at more than its end. */
    private readonly observer: AttemptObserver<Request> | undefined,
  ) {
    const { context } = tunnel.request;
    const { address: host, port } = end;
    const local = from && { localAddress: from.address, ...(from.port > 0 && { localPort: from.port }) };
    this.address = formatAddress({ host, port });
    this.startTime = context.clock.now;
    this.connection = new PeerConnection({ address: { host, port, ...local } }, context, undefined, '');
    this.connection.reuse(this);
  }

  get upstream(): string {
    return this.address;
  }
  get sent(): number {
    return this.connection.bytesSent;
  }
  get elapsed(): number {
    return this.connection.context.clock.now - this.startTime;
  }

  begin(): void {
    this.observer?.tell(this, 'begin');
  }

  fail(status: number, failure: string): void {
    this.status = status;
    this.failure = failure;
    this.giveUp();
  }

  /** Another address is in use, or the client has left. */
  giveUp(): void {
    this.connection.close();
    this.over();
  }

  onReceived(length: number): void {
    const isFirst = this.received === 0;
    this.received += length;
    if (!isFirst) return;
    this.headerTime = this.elapsed;
    this.observer?.tell(this, 'head');
  }

  over(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.responseTime = this.elapsed;
    this.observer?.tell(this, 'end');
    const { request } = this.tunnel;
    attemptEnded(request, this, request.location.attemptEndHandlers);
  }

  onConnected(): void {
    this.connectTime = this.elapsed;
    this.observer?.tell(this, 'connected');
    this.tunnel.connected(this);
  }
  onUpstreamClosed(reason: string): void {
    this.tunnel.failed(this, reason);
  }
  // Nothing is sent or read before the tunnel is open, and the limit is that of all attempts.
  onUpstreamData(): void {}
  onUpstreamDrain(): void {}
  onUpstreamEnd(): void {}
  onUpstreamTimeout(): void {}
}

/**
 * A CONNECT request until its tunnel is open: tries the addresses, each a little after the one before; the first that connects is taken
 * (RFC 8305).
 */
export class ConnectTunnel implements RequestOwner, UpstreamTrace, TunnelFacts, Timed {
  deadline = 0;
  slot = -1;
  readonly outlivesClient = false;
  readonly responseHead = '';
  readonly responseTrailers = '';
  readonly expires = undefined;
  /** Failed attempts and running ones; the last one is the one in use. */
  attempts: TunnelAttempt[] = [];
  connectTime = -1;
  firstByteTime = -1;
  readonly #live = new Set<TunnelAttempt>();
  readonly #startedAt: number;
  readonly #observer: AttemptObserver<Request> | undefined;

  constructor(
    readonly request: Request,
    readonly plan: TunnelPlan,
  ) {
    this.#startedAt = request.context.clock.refresh();
    this.#observer = attemptObserver(request);
  }

  start(): this {
    this.request.owner = this;
    this.request.upstreamTrace = this;
    this.#tryNext();
    return this;
  }

  get address(): ConnectionEnd | undefined {
    return this.attempts.at(-1)?.end;
  }
  get url(): string | undefined {
    return this.attempts.at(-1)?.address;
  }
  get elapsed(): number {
    return this.request.context.clock.now - this.#startedAt;
  }

  // The request's side, until there is a tunnel.

  abort(): void {
    const { request } = this;
    const text = 'client prematurely closed connection, so upstream connection is closed too while connecting to upstream';
    request.context.log.write('info', text, request);
    this.discard();
  }
  discard(): void {
    this.#stop();
  }
  onDrain(): void {}

  // Attempts.

  connected(attempt: TunnelAttempt): void {
    this.#live.delete(attempt);
    this.#stop();
    this.attempts = [...this.attempts.filter((other) => other.status !== 0), attempt];
    this.connectTime = this.elapsed;
    this.#open(attempt);
  }

  failed(attempt: TunnelAttempt, reason: string): void {
    const { request } = this;
    const { log } = request.context;
    const isShort = attempt.connection.ownFailure !== undefined;
    this.#live.delete(attempt);
    const text = `${reason} while connecting to ${attempt.address}`;
    attempt.fail(isShort ? 500 : 502, text);
    log.write(isShort ? 'alert' : 'error', text, request);
    if (isShort) this.#giveUp(500);
    else if (this.attempts.length < this.plan.addresses.length) this.#tryNext();
    else if (this.#live.size === 0) this.#giveUp(502);
  }

  onDeadline(): void {
    const { request, plan } = this;
    if (this.elapsed < plan.connectTimeout) {
      this.#tryNext();
      return;
    }
    const text = 'upstream timed out (110: Connection timed out) while connecting to upstream';
    request.context.log.write('error', text, request);
    for (const attempt of this.#live) attempt.fail(504, text);
    this.#live.clear();
    this.#giveUp(504);
  }

  #tryNext(): void {
    const { request, plan, attempts } = this;
    const end = plan.addresses[attempts.length];
    if (end !== undefined) {
      const attempt = new TunnelAttempt(this, end, plan.from, attempts.length + 1, this.#observer);
      attempts.push(attempt);
      this.#live.add(attempt);
      attempt.begin();
    }
    const left = Math.max(plan.connectTimeout - this.elapsed, 0);
    const isLast = attempts.length >= plan.addresses.length;
    request.context.timers.arm(this, isLast ? left : Math.min(left, ATTEMPT_DELAY));
  }

  #stop(): void {
    this.request.context.timers.forget(this);
    for (const attempt of this.#live) attempt.giveUp();
    this.#live.clear();
  }

  #giveUp(status: number): void {
    const { request } = this;
    this.#stop();
    request.owner = undefined;
    if (!request.finished) request.context.flow.reject(request, status);
  }

  // The tunnel.

  #open(attempt: TunnelAttempt): void {
    const { request } = this;
    const { connection } = attempt;
    request.opensTunnel = true;
    request.errorStatus = 0;
    try {
      this.#head();
    } catch (error) {
      const { message } = error as Error;
      request.context.log.write('error', message, request);
      attempt.fail(500, message);
      request.opensTunnel = false;
      this.#giveUp(500);
      return;
    }
    if (!startResponse(request)) {
      attempt.giveUp();
      request.opensTunnel = false;
      request.owner = undefined;
      sendFailure(request);
      return;
    }
    attempt.status = request.status;
    const relay = new TunnelRelay(request, connection, {
      idleTimeout: this.plan.idleTimeout,
      onReceived: (length) => this.#received(attempt, length),
      onEnd: () => attempt.over(),
    });
    request.owner = relay;
    connection.user = relay;
    relay.start();
  }

  #head(): void {
    const { request } = this;
    const head = this.plan.head(this);
    request.status = head?.status ?? 200;
    request.statusLine = head === undefined ? '200 Connection established' : `${head.status} ${head.reason}`;
    if (head === undefined) return;
    request.ownFields &= ~OwnField.All;
    for (const [name, value] of head.fields) request.response.append(name, value);
  }

  #received(attempt: TunnelAttempt, length: number): void {
    if (this.firstByteTime < 0) this.firstByteTime = this.elapsed;
    attempt.onReceived(length);
  }
}

/** The {@link Tunnels} service. */
export class HttpTunnels extends Tunnels {
  constructor(private readonly exchanges: Pick<HttpExchanges, 'compileTunnel' | 'explain'>) {
    super();
  }

  open(request: HttpRequest, plan: TunnelPlan): TunnelFacts {
    const tunnel = new ConnectTunnel(request as Request, plan);
    // The client may have left while the name was looked up.
    return (request as Request).finished ? tunnel : tunnel.start();
  }

  compile(plan: MemberTunnelPlan): Handler {
    return this.exchanges.compileTunnel(tunnelExchangePlan(plan));
  }

  explain(handler: Handler, request: HttpRequest, notes: ExplainNotes): Result {
    return this.exchanges.explain(handler, request, notes);
  }
}
