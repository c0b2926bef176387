import { STREAM_BAD_GATEWAY, STREAM_OK } from '../../contract/stream.js';
import type { MemberAttempt } from '../../contract/member-attempt.js';
import type { Clock } from '../../net/clock.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import { F } from '../../upstream/layout.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { AttemptObserver } from '../../run/attempt-observer.js';
import type { Session } from '../session/session.js';
import type { SessionAttemptFacts } from '../session/upstream-trace.js';

/** Status of an attempt that timed out. */
export const TIMED_OUT = 504;

/** One attempt at a member, and what came of it, for `$upstream_*` and logs. */
export class SessionAttempt implements SessionAttemptFacts, MemberAttempt {
  /** Address of the member; the upstream's name where there was none to ask. */
  readonly address: string;
  readonly url = '';
  readonly isReused = false;
  readonly queueTime = -1;
  status = 0;
  connectTime = -1;
  firstByteTime = -1;
  sessionTime = -1;
  sent = 0;
  received = 0;
  connection: PeerConnection | undefined = undefined;
  /** Why it failed, for people. */
  failure = '';
  readonly startTime: number;

  /** @param peer undefined when the attempt is over, or there was none to ask */
  constructor(
    private readonly group: Upstream,
    public peer: Peer | undefined,
    private readonly clock: Clock,
    readonly number: number,
    /** Undefined: no module looks at it. */
    private readonly observer: AttemptObserver<Session> | undefined,
  ) {
    this.address = peer?.server ?? group.name;
    this.startTime = clock.now;
  }

  get upstream(): string {
    return this.group.name;
  }
  get headerTime(): number {
    return this.firstByteTime;
  }
  get responseTime(): number {
    return this.sessionTime;
  }

  get elapsed(): number {
    return this.clock.now - this.startTime;
  }

  connected(): void {
    this.connectTime = this.elapsed;
    this.status = STREAM_OK;
    if (this.peer !== undefined) this.group.timed(this.peer, F.connectTime, this.connectTime);
    this.observer?.tell(this, 'connected');
  }

  /** The member has shown that it works, however the session ends. */
  succeeded(): void {
    if (this.peer !== undefined) this.group.succeeded(this.peer);
  }

  onReceived(length: number): void {
    const isFirst = this.received === 0;
    this.received += length;
    if (!isFirst) return;
    this.firstByteTime = this.elapsed;
    if (this.peer !== undefined) this.group.timed(this.peer, F.headerTime, this.firstByteTime);
    this.observer?.tell(this, 'head');
  }

  /**
   * Closes the member's accounts. The connection has another owner, or is closed.
   * @param failed the attempt counts as a failure of the member
   * @param status of the failure
   */
  end(failed: boolean, status = STREAM_BAD_GATEWAY): void {
    const { group: upstream, peer } = this;
    if (this.sessionTime < 0) this.sessionTime = this.elapsed;
    this.peer = undefined;
    this.connection = undefined;
    if (peer === undefined) return;
    upstream.finished(peer, this.sent, this.received, failed ? -1 : this.sessionTime);
    upstream.free(peer, failed, failed ? this.failure : '');
    if (failed) this.status = status;
    this.observer?.tell(this, 'end');
  }
}
