import { ApiError } from '../module/control.js';
import type { Handler, HttpRequest, Result, Scope } from '../module/http.js';
import type { ApiPlace } from '../module/services.js';
import type { ApiAnswer, ApiCall } from './api-call.js';
import { BrowserGuard } from './browser-guard.js';

/** Carries calls from a location to the router and its answers back. */
export interface Router {
  answer(call: ApiCall): Promise<ApiAnswer>;
  /** The answer to a call that is refused before it is looked at. */
  refuse(call: ApiCall, failure: ApiError): ApiAnswer;
}

/** The content handler of a location that holds the API, or with a `root` a part of it. */
export function apiContent(router: Router, { scope, root, allows }: ApiPlace): Handler {
  const base = basePath(scope);
  const guard = new BrowserGuard(serverNames(scope));
  return async (request) => {
    const call = callOf(request, base, root);
    const refusal = refused(request, call, guard, allows);
    return send(request, refusal ? router.refuse(call, refusal) : await router.answer(call));
  };
}

function callOf(request: HttpRequest, base: string, root: string): ApiCall {
  const { method, uri, args: query, requestId } = request;
  return {
    method,
    base,
    path: root + uri.slice(base.length),
    uri,
    query,
    requestId,
    header: (name) => request.header(name),
    body: (limit) => bodyOf(request, limit),
  };
}

/** Only of a location with a prefix it is known what lies below it. */
function basePath(scope: Scope): string {
  const [first = '', second] = scope.directive?.args.map((word) => word.text) ?? [];
  if (second !== undefined && first !== '^~')
    scope.fail('the API needs a location with a prefix', undefined, 'write: location /api { dyn_module_api; }');
  return (second ?? first).replace(/\/$/, '');
}

function serverNames(scope: Scope): string[] {
  let server: Scope | undefined = scope;
  while (server !== undefined && server.kind !== 'server') server = server.parent;
  return Array.from(server?.directive?.block?.named('server_name') ?? []).flatMap(({ args }) => args.map((word) => word.text));
}

function refused(request: HttpRequest, { path }: ApiCall, guard: BrowserGuard, allows: ApiPlace['allows']): ApiError | undefined {
  const { remoteAddress, localAddress } = request.connection;
  const failure = guard.refusal({ header: (name) => request.header(name), localAddress });
  if (failure !== undefined) return failure;
  const [, , key = ''] = path.split('/');
  return allows(key, request.method, remoteAddress)
    ? undefined
    : new ApiError(403, 'AccessDenied', 'this client may not use this method here');
}

async function bodyOf(request: HttpRequest, limit: number): Promise<Buffer> {
  try {
    return await request.readBody(limit);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // The client went away, or took too long.
    throw new ApiError(400, 'JsonError', 'the body ended too early');
  }
}

function send(request: HttpRequest, { status, headers, type, body }: ApiAnswer): Result {
  for (const [name, value] of Object.entries(headers)) request.response.set(name, value);
  return request.send(status, body, type);
}
