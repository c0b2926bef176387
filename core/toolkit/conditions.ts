/** Conditional requests (RFC 9110, 13), with the comparisons of nginx in the order of the RFC (13.2.2). */
import type { HttpRequest } from '../../core/module/http.js';
import { parseHttpDate } from '../../core/module/http-date.js';

export type ModifiedSince = 'off' | 'exact' | 'before';

/**
 * 412 or 304 if the conditions of the request say so, else 200. A condition on the tag takes precedence over that on the time.
 * @param modified seconds since 1970
 */
export function conditionalStatus(request: HttpRequest, etag: string | undefined, modified: number, since: ModifiedSince): 200 | 304 | 412 {
  const match = request.header('if-match');
  if (match !== undefined) {
    if (!matches(match, etag, false)) return 412;
  } else {
    const unmodifiedSince = request.header('if-unmodified-since');
    if (unmodifiedSince !== undefined && parseHttpDate(unmodifiedSince) < modified) return 412;
  }
  const noneMatch = request.header('if-none-match');
  if (noneMatch !== undefined) return matches(noneMatch, etag, true) ? 304 : 200;
  const modifiedSince = request.header('if-modified-since');
  return modifiedSince === undefined || isModified(parseHttpDate(modifiedSince), modified, since) ? 200 : 304;
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
