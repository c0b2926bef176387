/** One call of the API as it comes, and the answer as it goes. */
export interface ApiCall {
  readonly method: string;
  /** Path of the location that holds the API, without a slash at the end: `/api`. */
  readonly base: string;
  /** Path below `base`, decoded, with its leading slash: `/v1/kv`. */
  readonly path: string;
  /** What was asked for, decoded: `/api/v1/kv`. */
  readonly uri: string;
  /** Query without the question mark. */
  readonly query: string;
  readonly requestId: string;
  /** Header field by its name in lower case. */
  header(lowerName: string): string | undefined;
  /** Rejects with an ApiError 413 when it is longer than `limit` bytes. */
  body(limit: number): Promise<Buffer>;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string | undefined;
  readonly body: string;
}
