/** The facts about a request with a cache, for variables and filters. */
import type { HttpRequest } from '../../core/contract/http.js';
import type { CacheStatus } from './cache-figures.js';
import type { StoredHead } from './entry-file.js';
import { leadOf } from './slices.js';

export interface CacheState {
  readonly key: string;
  readonly status: CacheStatus | undefined;
  /** The head of the stored response, also when its file is closed. */
  readonly stored: StoredHead | undefined;
  /** Ranges of what is stored, or is being stored whole. */
  readonly allowsRanges: boolean;
  /** The text for Cache-Status; empty: the configuration does not want it, or there is nothing to say. */
  readonly cacheStatus: string;
}

/** Under this key a request keeps its state. */
const STATE = {};

/** The state of a request itself, without that of its slices. */
export function ownCacheState(request: HttpRequest): CacheState | undefined {
  return request.get(STATE) as CacheState | undefined;
}

export function cacheStateOf(request: HttpRequest): CacheState | undefined {
  return ownCacheState(leadOf(request));
}

export function setCacheState(request: HttpRequest, state: CacheState): void {
  request.set(STATE, state);
}
