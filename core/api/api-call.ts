import type { AppliedChange } from '../contract/control.js';
import type { Caller } from './access/caller.js';

/** One call of the API as it comes, and the response as it goes. */
export interface ApiCall {
  readonly method: string;
  /** Path of the location that holds the API, percent-encoded, without a slash at the end: `/api`. */
  readonly base: string;
  /** The path below `base` in its parts, decoded: `v1`, `kv`. Undefined: it is not below `base`, or not UTF-8. */
  readonly steps: readonly string[] | undefined;
  /** The path as the client sent it, without the query: `/api/v1/kv/keys/gr%C3%BCn`. */
  readonly href: string;
  /** Query without the question mark. */
  readonly query: string;
  readonly requestId: string;
  /** Address of the client. */
  readonly client: string;
  readonly caller: Caller;
  readonly trail: CallTrail;
  /** Header field by its name in lower case. */
  header(lowerName: string): string | undefined;
  /** Rejects with an ApiError 413 when it is longer than `limit` bytes. */
  body(limit: number): Promise<Buffer>;
}

/** Facts of the router about a call, for the audit log. */
export class CallTrail {
  /** The path of its route: `/v1/kv/keys/:key`. Undefined: it has none. */
  route: string | undefined = undefined;
  /** Name of the module whose route it is. */
  module: string | undefined = undefined;
  isDryRun = false;
  /** Why it was made, in the words of the caller. */
  message: string | undefined = undefined;
  /** Its changes of the configuration. */
  change: AppliedChange | undefined = undefined;
  /** The code of the error that it ended with. */
  code: string | undefined = undefined;
}

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string | undefined;
  readonly body: string;
  /** In the place of a body. */
  readonly stream?: AsyncIterable<Uint8Array | string>;
}
