import type { Clock } from '../../net/clock.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { Peer } from '../../upstream/peer.js';
import type { AttemptFacts } from '../request/upstream-trace.js';
import type { Request } from '../request/request.js';
import type { ExchangeRoute } from './exchange-route.js';
import { PeerConnection } from '../../net/peer-connection.js';

/**
 * One attempt at a member: the connection it is made over, and what came of it, for `$upstream_*` and logs. Times in milliseconds, -1: it
 * did not come to that.
 */
export class Attempt implements AttemptFacts {
  /** Address of the member; the upstream's name where there was none to ask. */
  readonly address: string;
  status = 0;
  connectTime = -1;
  headerTime = -1;
  responseTime = -1;
  sent = 0;
  received = 0;
  /** Bytes of `received` that were heads. */
  headLength = 0;
  /** Undefined when the attempt is over, {@link end}. */
  connection: PeerConnection | undefined = undefined;
  /** The connection has served before: the member may just have closed it. */
  reused = false;
  requestSent = false;
  /** Why it failed, for people. */
  failure = '';
  /** The part of the response's head that has come. */
  partial: Buffer | undefined = undefined;
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** The response has come to its end. */
  #isWhole = false;

  /**
   * @param peer undefined when the attempt is over, or there was none to ask
   * @param first the first one after an internal redirect, or of all
   */
  constructor(
    private readonly upstream: Upstream,
    public peer: Peer | undefined,
    readonly first: boolean,
    clock: Clock,
    /** Time that the request has waited for the member. */
    readonly queueTime: number,
  ) {
    this.address = peer?.server ?? upstream.name;
    this.#clock = clock;
    this.#startedAt = clock.now;
  }

  get elapsed(): number {
    return this.#clock.now - this.#startedAt;
  }

  /** Takes an idle connection to the member, which is connected, or opens one. */
  connect(peer: Peer, { plan, tls }: ExchangeRoute, request: Request, mayReuse: boolean): PeerConnection {
    const tlsName = tls === undefined ? '' : withoutPort(plan.tlsName.of(request));
    let pooled = mayReuse ? (this.upstream.keepalive.take(peer, plan.scope) as PeerConnection | undefined) : undefined;
    if (pooled !== undefined && (pooled.tls !== tls || pooled.tlsName !== tlsName)) {
      // The upstream is spoken to with TLS in one place and without it, or as somebody else, in another.
      pooled.close();
      pooled = undefined;
    }
    this.reused = pooled !== undefined;
    this.requestSent = false;
    return (this.connection = pooled ?? new PeerConnection(peer, request.context, tls, tlsName));
  }

  /** Closes a kept connection that the peer had closed already; the request goes to the same peer once more, and counts there again. */
  repeat(): void {
    this.giveConnection()?.close();
    if (this.peer !== undefined) this.upstream.repeated(this.peer);
  }

  /** What has come of the head, with this piece of it. */
  withPartial(chunk: Buffer): Buffer {
    const { partial } = this;
    this.partial = undefined;
    return partial === undefined ? chunk : Buffer.concat([partial, chunk]);
  }

  /** The head is not complete: keeps the bytes from an offset on, which interim responses stood before. */
  keepPartial(bytes: Buffer, from: number): void {
    if (from < bytes.length) this.partial = Buffer.from(bytes.subarray(from));
  }

  connected(): void {
    this.connectTime = this.reused ? 0 : this.elapsed;
  }

  /** @param bodyBytes what came with the head and is not of it */
  headArrived(status: number, bodyBytes: number): void {
    this.status = status;
    this.headerTime = this.elapsed;
    this.headLength = this.received - bodyBytes;
  }

  failed(status: number): void {
    this.status = status;
    this.responseTime = this.elapsed;
  }

  completed(): void {
    this.responseTime = this.elapsed;
    this.#isWhole = true;
  }

  /** The connection is somebody else's from now on. */
  giveConnection(): PeerConnection | undefined {
    const { connection } = this;
    if (connection !== undefined) this.sent += connection.bytesSent;
    this.connection = undefined;
    return connection;
  }

  /**
   * Closes the member's accounts, and the connection unless it goes back to the pool.
   * @param scope the location, for `keepalive … local`
   */
  end(scope: object | undefined, reusable: boolean, failed: boolean): void {
    const { upstream, peer } = this;
    const connection = this.giveConnection();
    // Broken off by the client, a filter or a redirect: that is when it was over.
    if (this.responseTime < 0) this.responseTime = this.elapsed;
    this.peer = undefined;
    if (peer !== undefined) {
      upstream.finished(peer, this.sent, this.received, this.#isWhole ? this.responseTime : -1);
      upstream.free(peer, failed, failed ? this.failure || `it responded with ${this.status}` : '');
    }
    if (connection === undefined) return;
    if (reusable && peer !== undefined) upstream.keepalive.put(peer, connection, scope);
    else connection.close();
  }
}

/** `$proxy_host`, which the name is by default, may have a port. */
function withoutPort(name: string): string {
  return name.replace(/^\[([^\]]*)\].*|:\d*$/s, '$1');
}
