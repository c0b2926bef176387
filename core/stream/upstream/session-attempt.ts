import type { Clock } from '../../net/clock.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import { F } from '../../upstream/layout.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { SessionAttemptFacts } from '../session/upstream-trace.js';

/** One attempt at a member, and what came of it, for `$upstream_*` and logs. */
export class SessionAttempt implements SessionAttemptFacts {
  /** Address of the member; the upstream's name where there was none to ask. */
  readonly address: string;
  connectTime = -1;
  firstByteTime = -1;
  sessionTime = -1;
  sent = 0;
  received = 0;
  connection: PeerConnection | undefined = undefined;
  /** Why it failed, for people. */
  failure = '';
  readonly #startedAt: number;

  /** @param peer undefined when the attempt is over, or there was none to ask */
  constructor(
    private readonly upstream: Upstream,
    public peer: Peer | undefined,
    private readonly clock: Clock,
  ) {
    this.address = peer?.server ?? upstream.name;
    this.#startedAt = clock.now;
  }

  get elapsed(): number {
    return this.clock.now - this.#startedAt;
  }

  connected(): void {
    this.connectTime = this.elapsed;
    if (this.peer !== undefined) this.upstream.timed(this.peer, F.connectTime, this.connectTime);
  }

  /** The member has shown that it works, however the session ends. */
  succeeded(): void {
    if (this.peer !== undefined) this.upstream.succeeded(this.peer);
  }

  onReceived(length: number): void {
    if (this.received === 0) {
      this.firstByteTime = this.elapsed;
      if (this.peer !== undefined) this.upstream.timed(this.peer, F.headerTime, this.firstByteTime);
    }
    this.received += length;
  }

  /** Closes the member's accounts. The connection has another owner, or is closed. @param failed the attempt counts as a failure of the member */
  end(failed: boolean): void {
    const { upstream, peer } = this;
    if (this.sessionTime < 0) this.sessionTime = this.elapsed;
    this.peer = undefined;
    this.connection = undefined;
    if (peer === undefined) return;
    upstream.finished(peer, this.sent, this.received, failed ? -1 : this.sessionTime);
    upstream.free(peer, failed, failed ? this.failure : '');
  }
}
