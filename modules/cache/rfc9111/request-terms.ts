/** Cache-Control of requests (RFC 9111, 5.2.1). */
import { parseCacheControl, secondsOf, type CacheControl } from './cache-control.js';

/** The limits that a client sets for stored responses. Times in milliseconds. */
export interface RequestTerms {
  readonly noCache: boolean;
  readonly noStore: boolean;
  readonly onlyIfCached: boolean;
  /** The most age; Infinity: any. */
  readonly maxAge: number;
  /** The least time for which the response stays fresh. */
  readonly minFresh: number;
  /** The most time for which it may have been stale. */
  readonly maxStale: number;
  /** The same, if members fail (RFC 5861, 4). */
  readonly staleIfError: number;
}

export const NO_TERMS: RequestTerms = {
  noCache: false,
  noStore: false,
  onlyIfCached: false,
  maxAge: Infinity,
  minFresh: 0,
  maxStale: 0,
  staleIfError: 0,
};

export function requestTerms(field: string | undefined): RequestTerms {
  if (field === undefined) return NO_TERMS;
  const control = parseCacheControl(field);
  return {
    noCache: control.has('no-cache'),
    noStore: control.has('no-store'),
    onlyIfCached: control.has('only-if-cached'),
    // A client that limits the age and cannot say how gets a response of no age.
    maxAge: timeOf(control, 'max-age', Infinity, 0),
    minFresh: timeOf(control, 'min-fresh', 0, 0),
    maxStale: control.get('max-stale') === '' ? Infinity : timeOf(control, 'max-stale', 0, 0),
    staleIfError: timeOf(control, 'stale-if-error', 0, 0),
  };
}

function timeOf(control: CacheControl, name: string, otherwise: number, malformed: number): number {
  const seconds = secondsOf(control, name);
  if (seconds === undefined) return otherwise;
  return Number.isNaN(seconds) ? malformed : seconds * 1000;
}
