/** Conditional requests (RFC 9110, 13), in the order and with the comparisons of nginx. */
import type { HttpRequest } from '../../core/module/http.js';

export type ModifiedSince = 'off' | 'exact' | 'before';

/** What a condition compares with. */
export interface Validators {
  readonly etag: string | undefined;
  /** Seconds since 1970. */
  readonly modified: number;
}

/** 412 or 304 if the conditions of the request say so, else 200. */
export function conditionalStatus(request: HttpRequest, file: Validators, since: ModifiedSince): 200 | 304 | 412 {
  const unmodifiedSince = request.header('if-unmodified-since');
  if (unmodifiedSince !== undefined && !(secondsOf(unmodifiedSince) >= file.modified)) return 412;
  const match = request.header('if-match');
  if (match !== undefined && !matches(match, file.etag, false)) return 412;
  const modifiedSince = request.header('if-modified-since');
  const noneMatch = request.header('if-none-match');
  if (modifiedSince === undefined && noneMatch === undefined) return 200;
  if (modifiedSince !== undefined && isModified(secondsOf(modifiedSince), file.modified, since)) return 200;
  if (noneMatch !== undefined && !matches(noneMatch, file.etag, true)) return 200;
  return 304;
}

function isModified(known: number, modified: number, since: ModifiedSince): boolean {
  if (since === 'off') return true;
  return since === 'exact' ? known !== modified : !(known >= modified);
}

/** Whether a list of entity tags has this one. @param weak `W/` makes no difference */
function matches(list: string, etag: string | undefined, weak: boolean): boolean {
  if (list.trim() === '*') return true;
  if (etag === undefined) return false;
  for (const [tag] of list.matchAll(/(?:W\/)?"[^"]*"/g)) if ((weak ? tag.replace(/^W\//, '') : tag) === etag) return true;
  return false;
}

/** Seconds of an HTTP date (RFC 9110, 5.6.7); NaN: it is none. The form of asctime has no zone, and means GMT. */
export function secondsOf(date: string): number {
  return Date.parse(date.endsWith('GMT') ? date : `${date} GMT`) / 1000;
}
