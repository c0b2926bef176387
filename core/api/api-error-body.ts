import { ApiError } from '../contract/control.js';
import type { ErrorBody, HttpRequest } from '../contract/http.js';
import type { ApiPlace } from '../contract/api-routes.js';
import { basePath, pathOf, stepsBelow } from './api-path.js';
import { errorResponse } from './api-response.js';

/** Errors of the server itself, before or instead of a call. */
const REJECTIONS: readonly { readonly status: number; readonly code: string; readonly text: string }[] = [
  { status: 400, code: 'BadRequest', text: 'malformed request' },
  { status: 401, code: 'Unauthorized', text: 'a user name and a password are required' },
  { status: 403, code: 'AccessDenied', text: 'access denied' },
  { status: 404, code: 'PathNotFound', text: 'path not found' },
  { status: 405, code: 'MethodNotAllowed', text: 'method is not allowed' },
  { status: 408, code: 'RequestTimeout', text: 'the request did not arrive in time' },
  { status: 413, code: 'BodyTooLarge', text: 'the request body is too large' },
  { status: 414, code: 'UriTooLong', text: 'the request line is too long' },
  { status: 429, code: 'TooManyAttempts', text: 'too many failed attempts to authenticate' },
  // A call waits for nothing but the data plane.
  {
    status: 504,
    code: 'DataPlaneUnavailable',
    text: 'the data plane did not respond within "handler_timeout": GET shows whether a change was made',
  },
];
/** nginx's own statuses, which clients see as 400. */
const SHOWN_AS_400 = new Map([
  [494, 'a header line is too long'],
  [495, 'the client certificate is not valid'],
  [496, 'a client certificate is required'],
  [497, 'a plain HTTP request was sent to an HTTPS port'],
]);

/** Finds the methods of a path. */
interface Paths {
  allowed(steps: readonly string[]): string | undefined;
}

/** Gives errors of the server itself (a malformed request, TRACE, `deny` in the location) the error body of the API. */
export function apiErrors(paths: Paths, places: readonly ApiPlace[]): (request: HttpRequest, status: number) => ErrorBody {
  const bases = places.flatMap(({ scope: { directive }, root }) =>
    directive === undefined ? [] : [{ base: basePath(directive), root: root.split('/').slice(1) }],
  );
  const allowed = (request: HttpRequest): string => {
    for (const { base, root } of bases) {
      const below = stepsBelow(request, base);
      const found = below && paths.allowed([...root, ...below]);
      if (found !== undefined) return found;
    }
    return 'GET, HEAD, OPTIONS';
  };
  return (request, status) => {
    const href = pathOf(request.requestUri);
    const { headers, type = '', body } = errorResponse({ href, requestId: request.requestId }, failureOf(status));
    for (const [name, value] of Object.entries(headers)) request.response.set(name, value);
    if (status === 405) request.response.set('Allow', allowed(request));
    return { type, body };
  };
}

function failureOf(status: number): ApiError {
  const malformed = SHOWN_AS_400.get(status);
  if (malformed !== undefined) return new ApiError(400, 'BadRequest', malformed);
  const known = REJECTIONS.find((rejection) => rejection.status === status);
  if (known !== undefined) return new ApiError(status, known.code, known.text);
  return status < 500 ? new ApiError(status, 'BadRequest', 'request rejected') : new ApiError(status, 'InternalError', 'internal error');
}
