/** Response of HTTP for the outcome of a call. */
import type { ApiError, Reply } from '../contract/control.js';
import { AccessError } from './access/access-error.js';
import type { ApiCall, ApiResponse } from './api-call.js';

const JSON_TYPE = 'application/json; charset=utf-8';
/** Responses change from call to call, and hold nothing that a browser may take for something else. */
const COMMON_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };
/** Seconds after which a data plane that was away may be back. */
const RETRY_AFTER = '1';

export function responseOf(
  call: Pick<ApiCall, 'href' | 'query'>,
  { status, body, type, stream, headers, version, next }: Reply,
): ApiResponse {
  const all = {
    ...COMMON_HEADERS,
    ...headers,
    ...(version !== undefined && { ETag: `"${version}"` }),
    ...(next !== undefined && { Link: linkTo(call, next) }),
  };
  if (stream !== undefined && type !== undefined) return { status, headers: all, type: withCharset(type), body: '', stream };
  if (body === undefined) return { status, headers: all, type: undefined, body: '' };
  if (typeof body === 'string' && type !== undefined) return { status, headers: all, type: withCharset(type), body };
  return { status, headers: all, type: JSON_TYPE, body: JSON.stringify(body) };
}

export function emptyResponse(status: number, headers: Readonly<Record<string, string>>): ApiResponse {
  return { status, headers: { ...COMMON_HEADERS, ...headers }, type: undefined, body: '' };
}

/** `Prefer: return=minimal` (RFC 7240): what a write returns without its body. */
export function unlessUnwanted({ status, body: _body, type: _type, headers, ...reply }: Reply): Reply {
  return { ...reply, status: status < 300 ? 204 : status, headers: { ...headers, 'Preference-Applied': 'return=minimal' } };
}

/** The one error body. */
export function errorResponse({ href, requestId }: Pick<ApiCall, 'href' | 'requestId'>, failure: ApiError): ApiResponse {
  const { status } = failure;
  const headers = {
    ...COMMON_HEADERS,
    ...((status === 503 || status === 504) && { 'Retry-After': RETRY_AFTER }),
    ...(failure instanceof AccessError && failure.headers),
  };
  return { status, headers, type: JSON_TYPE, body: JSON.stringify(errorBody(failure, requestId, href)) };
}

export function errorBody({ status, code, message: text, details }: ApiError, requestId: string, href: string): object {
  return { error: { status, code, text, details }, request_id: requestId, href };
}

/** The same list, from another place on (RFC 8288). */
function linkTo({ href, query }: Pick<ApiCall, 'href' | 'query'>, after: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set('after', after);
  return `<${href}?${parameters.toString()}>; rel="next"`;
}

function withCharset(type: string): string {
  return type.startsWith('text/') && !type.includes('charset=') ? `${type}; charset=utf-8` : type;
}
