/** How an exchange and the protocols of members know each other. Interfaces only. */
import type { AttemptHead } from '../../contract/member.js';
import type { HeadLimits } from '../../net/http1/message-head.js';
import type { PeerConnection } from '../../net/peer-connection.js';
import type { Connection, PassingUser } from '../../net/transport/connection.js';
import type { TlsClient } from '../../net/tls-client.js';
import type { Peer } from '../../upstream/peer.js';
import type { Upstream } from '../../upstream/upstream.js';
import type { Lender } from '../request/lender.js';
import type { HttpContext } from '../request/context.js';

/** The member, and the kind of connection. */
export interface MemberTarget {
  readonly context: HttpContext;
  readonly upstream: Upstream;
  readonly peer: Peer;
  /** The location, for `keepalive … local`. */
  readonly scope: object;
  /** Undefined: TLS is not spoken. */
  readonly tls: TlsClient | undefined;
  /** Name that the certificate must have. */
  readonly tlsName: string;
  /** Where connections come from (proxy_bind); empty: the system chooses. */
  readonly source: string;
  /** The connection gets SO_KEEPALIVE, if it is opened. */
  readonly keepsAlive: boolean;
  /** Of HTTP/1. */
  readonly version: '1.0' | '1.1';
  readonly headLimits: HeadLimits;
  /** Most bytes of the read that brings the head of the response. */
  readonly firstRead: number;
  /** Most bytes of a read of the body after that (proxy_limit_rate). */
  readonly bodyRead: number;
}

/** Makes the streams of one protocol, and has the pool of their connections. */
export interface MemberStreams {
  /** Requests are sent when the length of their body is known. */
  readonly needsLength: boolean;
  /** Requests share connections: each takes one of worker_connections. */
  readonly sharesConnections: boolean;
  /**
   * Begins an attempt.
   * @param mayReuse an idle connection is good enough
   */
  open(target: MemberTarget, mayReuse: boolean, reader: MemberReader): MemberStream;
}

/** One request at a member, over a connection of its own or over one that it shares. After {@link release} nothing of it is used. */
export interface MemberStream {
  /** Else {@link MemberReader.onConnected} follows. */
  readonly isConnected: boolean;
  /** The connection has served before: the member may just have closed it. */
  readonly isReused: boolean;
  /** How bad it is that the server itself has no means to connect. Undefined: it is not so. */
  readonly ownFailure: 'alert' | 'crit' | undefined;
  /** How bad it is that it could not be connected. */
  readonly failureLevel: 'error' | 'crit';
  /** See {@link PeerConnection.isHandshaking}. */
  readonly isHandshaking: boolean;
  /** Bytes on the wire, and how many of those received were the head. */
  readonly sent: number;
  readonly received: number;
  readonly headLength: number;
  /** Bytes of the request that wait for the member. */
  readonly unsent: number;
  /** Where bytes of the request's body may go past the stream, see {@link countPassed}. Absent, or undefined: they are framed, or shared with others. */
  readonly bodyPath?: Connection | undefined;

  /** See {@link MemberCodec.start}. */
  start(head: AttemptHead, body: readonly Buffer[], ends: boolean): void;
  /** See {@link MemberCodec.write}. */
  write(piece: Buffer, release: (() => void) | undefined): void;
  /** See {@link MemberCodec.end}. */
  end(trailers: string): void;
  /** So many bytes of the request's body were sent to {@link bodyPath}. */
  countPassed?(count: number): void;
  /** The response is read no further for now, and on again. */
  pause(): void;
  resume(): void;
  /**
   * The rest of a body of known length goes to a socket without being read, see `Connection.passTo`; {@link MemberReader.onRead} and
   * {@link MemberReader.onEnd} follow as ever. Absent, or false: it cannot.
   */
  passBody?(target: Connection, user: PassingUser): boolean;
  /** Undoes {@link passBody}. */
  endPassing?(): void;
  /** {@link MemberReader.onTimeout} follows after so many milliseconds; it moves with each call. */
  limit(milliseconds: number): void;
  unlimit(): void;
  /** The attempt is over, whatever is missing: the connection goes back to the pool, or ends. */
  release(): void;
  /**
   * Leaves the protocol: the connection is the caller's until {@link release}. Undefined: this protocol has no such thing.
   * @param limit milliseconds in which the last bytes may leave
   */
  upgrade(limit: number): PeerConnection | undefined;
}

/** The exchange, as a stream sees it. */
export interface MemberReader {
  onConnected(): void;
  /** An interim response (1xx, not 101), whose head is in the scratch of the context. The attempt may be over afterwards. */
  onInterim(): void;
  /** The final response begins; its head is in the scratch of the context. @param length of its body, -1: not known */
  onHead(length: number): void;
  /** Content of the body. @param lender see {@link Lender}; undefined: the bytes are given away */
  onData(bytes: Buffer, from: number, to: number, lender: Lender | undefined): void;
  /** The response is complete. @param trailers field lines, each with its CRLF */
  onEnd(trailers: string): void;
  /** A read of so many bytes is over, and the response goes on. */
  onRead(length: number): void;
  /** The member's data is malformed. @param text for the log */
  onInvalid(text: string): void;
  /**
   * The connection is lost, or the member has given the stream up.
   * @param reason as the system gives it, empty for an orderly close
   */
  onClosed(reason: string): void;
  /** The member has certainly not looked at the request, which may be sent again whatever it is. */
  onRefused(): void;
  onTimeout(): void;
  /** The member has consumed what was waiting. */
  onRoom(): void;
}
