/** How sessions are carried to the members of an upstream. */
import type { UpstreamTls } from './upstream-tls.js';
import type { StreamHandler, StreamTemplate } from './stream.js';

/** How one server talks to its upstream; made once when it is compiled. Times in milliseconds. */
export interface RelayPlan {
  /** Upstream name, `host:port` or `unix:/path`; known at compile time if constant. */
  readonly target: StreamTemplate;
  readonly connectTimeout: number;
  /** The session ends when no byte moves for so long. */
  readonly idleTimeout: number;
  /** Another member is asked when a connection cannot be made. */
  readonly next: SessionNextUpstream;
  /** Either side may end its half of the session and still receive. */
  readonly halfClose: boolean;
  /** Bytes a second that are read from the client, and from the member; empty or 0: no limit. */
  readonly uploadRate: StreamTemplate;
  readonly downloadRate: StreamTemplate;
  /** The member gets the client's address by the PROXY protocol. */
  readonly proxyProtocol: boolean;
  readonly keepAlive: boolean;
  /** The address that connections come from; undefined: the system chooses. */
  readonly bind: StreamTemplate | undefined;
  /** Undefined: TLS is not spoken. */
  readonly tls: UpstreamTls | undefined;
  /** The name that the certificate has to be for. */
  readonly tlsName: StreamTemplate;
  /** Of UDP: datagrams of the client after which the next one begins another session, and datagrams of the member that end it; 0 and undefined: no limit. */
  readonly requests: number;
  readonly responses: number | undefined;
  /** Rejects the configuration at the directive that names the target. */
  fail(message: string, hint?: string): never;
}

export interface SessionNextUpstream {
  readonly enabled: boolean;
  /** 0: no limit. */
  readonly tries: number;
  /** 0: no limit. */
  readonly timeoutMs: number;
}

/** Carries sessions to upstream members: choice, connections, retries, bytes both ways, back-pressure. */
export abstract class SessionRelays {
  /**
   * Makes the content handler for a plan. A constant target is looked up (and its name resolved) while the configuration is prepared;
   * what is wrong with it is reported there: `host not found in upstream "x"`.
   */
  abstract compile(plan: RelayPlan): StreamHandler;
}
