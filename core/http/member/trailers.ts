/** Trailers that are passed on, as field lines, each with its CRLF. */
import { PLAIN_NAME } from '../../net/http1/characters.js';
import type { Request } from '../request/request.js';
import type { MemberRoute } from './member-route.js';

/**
 * Fields that mean something before the body only: for framing, routing, conditions, authentication, or how the content is processed
 * (RFC 9110, 6.5.1). A member that merges trailers into the head must not get them from there.
 */
const NOT_IN_TRAILERS = new Set(
  `accept accept-charset accept-encoding accept-language age authorization cache-control connection content-encoding content-length
  content-range content-type cookie date expect forwarded host if-match if-modified-since if-none-match if-range if-unmodified-since
  keep-alive max-forwards pragma proxy-authorization proxy-connection range referer te trailer transfer-encoding upgrade user-agent
  via`.split(/\s+/),
);

/** Trailers of a member without hidden ones. */
export function shownTrailers(lines: string, hidden: ReadonlySet<string>): string {
  return linesWithout(lines, (name) => hidden.has(name));
}

/**
 * Trailers of a client for a member: without fields that belong into a head, and without names that the server itself sets there. Names are
 * subject to the rules of header names (ignore_invalid_headers, underscores_in_headers).
 */
export function sentTrailers(lines: string, { plan }: MemberRoute, { headLimits, upstreamFields }: Request): string {
  const characters = headLimits.names ?? PLAIN_NAME;
  return linesWithout(
    lines,
    (name) => NOT_IN_TRAILERS.has(name) || plan.replaced.has(name) || upstreamFields?.has(name) === true || !consistsOf(name, characters),
  );
}

function linesWithout(lines: string, isDropped: (lowerName: string) => boolean): string {
  return lines
    .split(/(?<=\n)/)
    .filter((line) => !isDropped(line.slice(0, line.indexOf(':')).toLowerCase()))
    .join('');
}

function consistsOf(name: string, characters: Uint8Array): boolean {
  for (let at = 0; at < name.length; at++) if (characters[name.charCodeAt(at)] !== 1) return false;
  return true;
}
