/** The rules of a cache: what may be stored, for how long, and how it is used. */
import type { HttpRequest, MemberResponse } from '../../core/contract/http.js';
import type { ModifiedSince } from '../../core/toolkit/conditions.js';
import { StoredFlag, type StoredHead } from './entry-file.js';
import type { RequestTerms } from './rfc9111/request-terms.js';

/** Times of `proxy_cache_valid` by status, `any` for all others; milliseconds. */
export type Validity = ReadonlyMap<number | 'any', number>;

/** The decision about storing a response. Times in seconds. */
export interface Judgement {
  /** How long it is fresh from its birth on; NaN: it may not be stored. */
  readonly seconds: number;
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  /** As in {@link StoredHead}. */
  readonly born: number;
  readonly flags: number;
}

export const NOT_STORED: Judgement = { seconds: NaN, staleWhileRevalidate: 0, staleIfError: 0, born: 0, flags: 0 };

/** A response of a member and how it came. Times in epoch milliseconds. */
export interface Received {
  readonly request: HttpRequest;
  readonly response: Pick<MemberResponse, 'status' | 'header' | 'headers'>;
  /** Fields that have no effect, lower case. */
  readonly ignored: ReadonlySet<string>;
  readonly validity: Validity;
  readonly requestTime: number;
  readonly responseTime: number;
}

/** The parts of a stored response that follow from its fields. */
export type Renewal = Pick<
  StoredHead,
  'head' | 'modified' | 'date' | 'born' | 'flags' | 'validUntil' | 'staleWhileRevalidate' | 'staleIfError'
>;

export interface CachingRules {
  /** Stored responses are validated with a member where they can be, without `proxy_cache_revalidate`. */
  readonly alwaysValidates: boolean;
  /** Renews in the background without `proxy_cache_background_update`. */
  readonly updatesInBackground: boolean;
  /** Methods other than GET and HEAD remove what is stored. */
  readonly invalidates: boolean;
  /** The response to a HEAD is stored as one to a GET is; else it is news about that. */
  readonly storesHeads: boolean;
  /** Parts of responses are stored, and joined. */
  readonly storesParts: boolean;
  /** No-Vary-Search counts. */
  readonly readsQueries: boolean;
  /** Statuses in whose place a response may be stale by itself (stale-if-error). */
  readonly errors: ReadonlySet<number>;
  /** Clients get the Date of a stored response. */
  readonly keepsDate: boolean;
  readonly modifiedSince: ModifiedSince;
  /** The limits that the client sets. */
  terms(request: HttpRequest): RequestTerms;
  judge(received: Received): Judgement;
  /** The status line and the fields that are stored. */
  storedHead(received: Received): string;
  /** True if a 304 is about this stored response. */
  isAbout(stored: StoredHead, received: Received): boolean;
  /** A stored response after its validation, or with the fields of the response to a HEAD. */
  renewed(stored: StoredHead, received: Received): Renewal;
  /** The head that a client gets. */
  sentHead(stored: StoredHead, now: number): string;
  /** A field that selects a response, for comparison. */
  selectingValue(lowerName: string, value: string | undefined): string;
  /** Seconds since 1970 with which a client's If-Modified-Since is compared; NaN: none. */
  modified(stored: StoredHead): number;
}

/** True if a stored response satisfies a request without a member. */
export function isUsable(stored: StoredHead, terms: RequestTerms, now: number): boolean {
  const staleFor = now - stored.validUntil;
  if ((stored.flags & StoredFlag.AlwaysValidated) !== 0 || !isAccepted(stored, terms, now)) return false;
  return staleFor < 0 || ((stored.flags & StoredFlag.NeverStale) === 0 && staleFor < terms.maxStale);
}

/** True if it may be used stale while it is renewed. @param isConfigured the configuration allows that for all */
export function isUsableForNow(stored: StoredHead, terms: RequestTerms, now: number, isConfigured: boolean): boolean {
  if (stored.flags !== 0 || !isAccepted(stored, terms, now)) return false;
  return isConfigured || stored.validUntil + stored.staleWhileRevalidate * 1000 > now;
}

/** True if it may be used stale because the members have failed. @param isConfigured the configuration allows that for all */
export function isUsableOnError(stored: StoredHead, terms: RequestTerms, now: number, isConfigured: boolean): boolean {
  if (stored.flags !== 0 || terms.noCache) return false;
  return isConfigured || stored.validUntil + Math.max(stored.staleIfError * 1000, terms.staleIfError) > now;
}

function isAccepted(stored: StoredHead, terms: RequestTerms, now: number): boolean {
  if (terms.noCache || (terms.minFresh > 0 && stored.validUntil - now < terms.minFresh)) return false;
  return terms.maxAge === Infinity || (terms.maxAge > 0 && now - stored.born <= terms.maxAge);
}
