import type { EngineName } from '../contract/spec.js';

/** The traffic engine that a set of upstreams is for. An upstream of one engine is not found by the other. */
export interface UpstreamEngine {
  readonly name: EngineName;
  /** The context of the directives in its `upstream` blocks; also the use of their zones. */
  readonly context: 'upstream' | 'stream upstream';
  /** Port of a member without one. Undefined: it needs one. */
  readonly defaultPort: number | undefined;
}

export const HTTP_UPSTREAMS: UpstreamEngine = { name: 'http', context: 'upstream', defaultPort: 80 };
export const STREAM_UPSTREAMS: UpstreamEngine = { name: 'stream', context: 'stream upstream', defaultPort: undefined };
