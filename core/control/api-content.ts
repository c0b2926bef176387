import { ApiError } from '../module/control.js';
import type { Handler, HttpRequest, Result, Scope } from '../module/http.js';
import type { ApiPlace } from '../module/services.js';
import type { ApiCall, ApiResponse } from './api-call.js';
import { basePath, pathOf, stepsBelow } from './api-path.js';
import { BrowserGuard } from './browser-guard.js';

/** Carries calls from a location to the router and its responses back. */
export interface Router {
  respond(call: ApiCall): Promise<ApiResponse>;
  /** The response to a call that is rejected before its path is looked up. */
  reject(call: ApiCall, failure: ApiError): ApiResponse;
}

/** The content handler of a location that holds the API, or with a `root` a part of it. */
export function apiContent(router: Router, place: ApiPlace): Handler {
  const base = prefixOf(place.scope);
  const guard = new BrowserGuard(serverNames(place.scope));
  return async (request) => {
    const call = callOf(request, base, place);
    const { localAddress } = request.connection;
    const rejection = guard.refusal({ header: (name) => request.header(name), localAddress });
    return send(request, rejection ? router.reject(call, rejection) : await router.respond(call));
  };
}

/** A request as a call. @param base of the location that holds the API */
function callOf(request: HttpRequest, base: string, { root, allows }: Pick<ApiPlace, 'root' | 'allows'>): ApiCall {
  const { method, args: query, requestId } = request;
  const below = stepsBelow(request, base);
  return {
    method,
    base: encodeURI(base),
    steps: below && [...root.split('/').slice(1), ...below],
    href: pathOf(request.requestUri),
    query,
    requestId,
    allows: (key, verb) => allows(key, verb, request.connection.remoteAddress),
    header: (name) => request.header(name),
    body: (limit) => bodyOf(request, limit),
  };
}

/** The path in front of the API. @throws ConfigError where the location has no prefix: what is below it is not known then */
function prefixOf(scope: Scope): string {
  const { directive } = scope;
  const modifier = directive?.args.length === 2 ? directive.args[0]?.text : undefined;
  if (directive === undefined || (modifier !== undefined && modifier !== '^~'))
    return scope.fail('the API requires a prefix location', undefined, 'use: location /api { dyn_module_api; }');
  return basePath(directive);
}

function serverNames(scope: Scope): string[] {
  let server: Scope | undefined = scope;
  while (server !== undefined && server.kind !== 'server') server = server.parent;
  return Array.from(server?.directive?.block?.named('server_name') ?? []).flatMap(({ args }) => args.map((word) => word.text));
}

async function bodyOf(request: HttpRequest, limit: number): Promise<Buffer> {
  try {
    return await request.readBody(limit);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The client went away, or took too long.
    throw new ApiError(400, 'JsonError', 'unexpected end of the request body');
  }
}

function send(request: HttpRequest, { status, headers, type, body, stream }: ApiResponse): Result {
  for (const [name, value] of Object.entries(headers)) request.response.set(name, value);
  if (stream !== undefined && request.method !== 'HEAD') return request.respond(status, type).pipe(stream);
  return request.send(status, body, type);
}
