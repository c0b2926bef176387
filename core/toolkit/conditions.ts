/** Conditional requests (RFC 9110, 13), with the comparisons of nginx in the order of the RFC (13.2.2). */
import { parseHttpDate } from '../contract/http-date.js';
import type { HttpRequest, Result } from '../contract/http.js';

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

/**
 * The result of a conditional request for a response that a module makes: 304 or 412 if the conditions of the client are about its `ETag` and
 * `Last-Modified`, which are set already; undefined: the response is to be sent. To be called before its body is made. Dates are compared as
 * `if_modified_since exact` does.
 *
 * ```ts
 * request.response.set('ETag', `"${version}"`);
 * return conditionalResult(request) ?? request.send(200, this.#render());
 * ```
 */
export function conditionalResult(request: HttpRequest): Result | undefined {
  const { response, method } = request;
  // A subrequest has the fields of the client, whose conditions are about another response.
  if (request.parent !== undefined) return undefined;
  const modified = response.get('Last-Modified');
  const seconds = modified === undefined ? undefined : parseHttpDate(modified);
  const status = conditionalStatus(request, response.get('ETag'), seconds ?? NaN, seconds === undefined ? 'off' : 'exact');
  if (status === 200) return undefined;
  // Only what is read can be known already (RFC 9110, 13.1.2).
  if (status === 304) return method === 'GET' || method === 'HEAD' ? request.send(304, '') : 412;
  return 412;
}

function isModified(known: number, modified: number, since: ModifiedSince): boolean {
  if (since === 'off') return true;
  return since === 'exact' ? known !== modified : !(known >= modified);
}

/** True if a list of entity tags has this one. @param weak `W/` makes no difference */
function matches(list: string, etag: string | undefined, weak: boolean): boolean {
  if (list.trim() === '*') return true;
  if (etag === undefined) return false;
  if (!weak && etag.startsWith('W/')) return false;
  const own = weak ? strong(etag) : etag;
  for (const [tag] of list.matchAll(/(?:W\/)?"[^"]*"/g)) if ((weak ? strong(tag) : tag) === own) return true;
  return false;
}

const strong = (tag: string): string => tag.replace(/^W\//, '');
