/** The field Cache-Status (RFC 9211). */

/** Reasons for which a member was asked. */
export type ForwardReason = 'bypass' | 'uri-miss' | 'vary-miss' | 'request' | 'stale' | 'partial';

export interface CacheStatusFacts {
  /** Undefined: the response is a stored one. */
  readonly forwarded: ForwardReason | undefined;
  /** Status of the member's response; 0: there was none. */
  readonly memberStatus: number;
  readonly isStored: boolean;
  /** Milliseconds for which it stays fresh; NaN: nothing is stored. */
  readonly freshFor: number;
}

/** The member of the list that is about this cache. */
export function cacheStatusField({ forwarded, memberStatus, isStored, freshFor }: CacheStatusFacts): string {
  let field = 'srv';
  if (forwarded === undefined) field += '; hit';
  else {
    field += `; fwd=${forwarded}`;
    if (memberStatus !== 0) field += `; fwd-status=${memberStatus}`;
    if (isStored) field += '; stored';
  }
  return Number.isFinite(freshFor) ? `${field}; ttl=${Math.floor(freshFor / 1000)}` : field;
}
