/**
 * Servers of an upstream that a module finds. They are not configuration: no journal, no history, no drift; the API shows them
 * below their `server` line, and changes that alone.
 */

/** As the parameters of these names, 0: no limit. Times in milliseconds. Default: those of the `server` line. */
export interface MemberLimits {
  readonly maxConns?: number;
  readonly maxFails?: number;
  readonly failTimeout?: number;
  readonly slowStart?: number;
}

/** A server that was found. */
export interface FoundServer extends MemberLimits {
  /**
   * `10.0.0.1:8080`, `[2001:db8::1]:8080`, or `edge.example.com:8080`: all addresses of the name, which the `resolver` of the upstream looks up again
   * as often as DNS says.
   */
  readonly address: string;
  /** 1 to 65535; a weight of the `server` line takes precedence. Default: 1. */
  readonly weight?: number;
  /** Gets requests only when the others are unavailable. Default: as the `server` line says. */
  readonly backup?: boolean;
}

/** Takes all servers that there are now, which take effect in all workers. @throws RangeError for an invalid one: nothing changes then */
export type TakeServers = (servers: readonly FoundServer[]) => void;

/** Where the servers of a `server` line with `members_from` come from. */
export interface MemberSource {
  /** Sources of one line with the same key are the same one, which goes on being followed. */
  readonly key: string;
  /**
   * Called in the main thread when the line is active, once for each line; work begins when the module has started ({@link Tasks}). Until
   * `take` is called for the first time the servers are those of the last start, as far as they are known, then always those taken last.
   */
  follow(take: TakeServers): FollowedSource;
}

export interface FollowedSource {
  /** The line is not active any more, or has another source. `take` has no effect any more. */
  end(): void;
}
