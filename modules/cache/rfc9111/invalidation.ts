/** Invalidation by unsafe methods (RFC 9111, 4.4). */
import type { HttpRequest, MemberResponse } from '../../../core/contract/http.js';
import type { Log } from '../../../core/contract/log.js';
import { systemErrorText } from '../../../core/contract/system-error.js';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'CONNECT']);

/** True if a request with this method may change what it is about. */
export function isUnsafe(method: string): boolean {
  return !SAFE.has(method);
}

/** A request that makes stored responses invalid when it succeeds. */
export class Invalidation {
  constructor(
    private readonly request: HttpRequest,
    /** The request target for members. */
    private readonly target: string,
    private readonly key: string,
    /** Removes the response with a key. */
    private readonly remove: (key: string) => Promise<unknown>,
    private readonly log: Log,
  ) {}

  responded(response: MemberResponse): void {
    const { request, target, key } = this;
    if (response.status < 200 || response.status >= 400) return;
    const references = [response.header('location'), response.header('content-location')];
    const hosts = [request.header('host'), request.variable('proxy_host')];
    const uris = [target, request.requestUri, request.args === '' ? request.uri : `${request.uri}?${request.args}`];
    for (const one of [key, ...referredKeys(key, uris, hosts, references)]) {
      this.remove(one).catch((error: unknown) => {
        this.log.write('crit', `a response cannot be removed from the cache (${systemErrorText(error)})`, request);
      });
    }
  }
}

/**
 * Keys of the URIs that fields of a response refer to, if they are of the same origin: others are not the member's to remove. A key that does
 * not end with the URI of its request has none.
 * @param uris of the request: as members get it, as it came, and normalised
 * @param hosts of the origin, as clients and as members call it
 */
export function referredKeys(
  key: string,
  uris: readonly string[],
  hosts: readonly (string | undefined)[],
  references: readonly (string | undefined)[],
): readonly string[] {
  const uri = uris.find((one) => key.endsWith(one));
  const host = hosts[0] ?? hosts[1];
  if (uri === undefined || host === undefined) return [];
  const prefix = key.slice(0, key.length - uri.length);
  return references.flatMap((reference) => {
    if (reference === undefined || !URL.canParse(reference, `http://${host}${uri}`)) return [];
    const other = new URL(reference, `http://${host}${uri}`);
    const isOwn = hosts.some(
      (own) => own !== undefined && URL.canParse(`http://${own}`) && new URL(`${other.protocol}//${own}`).host === other.host,
    );
    return isOwn ? [`${prefix}${other.pathname}${other.search}`] : [];
  });
}
