import type { Request } from '../http/request/request.js';
import { ApiError } from '../contract/control.js';
import { DECLINED, type Handler, type HttpHandlers, type HttpRequest, type Result, type Scope } from '../contract/http.js';
import type { ApiPlace } from '../contract/api-routes.js';
import { auditLine } from './access/audit-line.js';
import { NOBODY, type Caller } from './access/caller.js';
import type { FailedAttempts } from './access/failed-attempts.js';
import type { LocationAccess } from './access/location-access.js';
import { tooManyAttempts } from './access/access-error.js';
import { CallTrail, type ApiCall, type ApiResponse } from './api-call.js';
import { basePath, pathOf, stepsBelow } from './api-path.js';
import { BrowserGuard } from './browser-guard.js';

/** Carries calls from a location to the router and its responses back. */
export interface Router {
  respond(call: ApiCall): Promise<ApiResponse>;
  /** The response to a call that is rejected before its path is looked up. */
  reject(call: ApiCall, failure: ApiError): ApiResponse;
}

/** State of the handlers of one location. */
interface LocationOptions {
  readonly router: Router;
  readonly place: ApiPlace;
  readonly access: LocationAccess;
  readonly failures: FailedAttempts;
}

/** Key of the state of requests whose line is in the audit log. */
const AUDITED = Object.freeze({});

/** Methods that change nothing. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The handlers of a location that holds the API, or with a `root` a part of it, but for those of errors. */
export function apiLocation(options: LocationOptions): HttpHandlers {
  return { preaccess: attemptsHandler(options), log: logHandler(options), content: contentHandler(options), limitsBody: true };
}

/** Clients with too many failed attempts are rejected before another password is checked. */
function attemptsHandler({ access, failures }: LocationOptions): Handler {
  const { failedAttempts: limit } = access.settings;
  return (request) => {
    const wait = limit === undefined ? 0 : failures.waitOf(request.connection.remoteAddress, limit);
    if (wait === 0) return DECLINED;
    const { status, headers } = tooManyAttempts(wait);
    for (const [name, value] of Object.entries(headers)) request.response.set(name, value);
    return status;
  };
}

/** Counts failed attempts, and audits requests that other modules have rejected. */
function logHandler({ access, failures }: LocationOptions): (request: HttpRequest) => void {
  const { failedAttempts: limit, auditLog } = access.settings;
  return (request) => {
    const { method, requestId, status, requestUri } = request;
    const { remoteAddress: client } = request.connection;
    if (limit !== undefined && status === 401 && request.header('authorization') !== undefined) failures.add(client, limit);
    if (auditLog === undefined || READS.has(method) || request.get(AUDITED) === true) return;
    auditLog.write(auditLine({ method, href: pathOf(requestUri), requestId, client, ...NOBODY }, status));
  };
}

function contentHandler({ router, place, access }: LocationOptions): Handler {
  const base = prefixOf(place.scope);
  const guard = new BrowserGuard(serverNames(place.scope));
  return async (request) => {
    const [caller, failure] = callerOf(request, guard, access);
    const call = callOf(request, base, place, caller);
    const response = failure === undefined ? await router.respond(call) : router.reject(call, failure);
    if (!READS.has(call.method)) {
      const { actor, by } = caller;
      access.settings.auditLog?.write(auditLine({ ...call, actor, by }, response.status));
      request.set(AUDITED, true);
    }
    return send(request, response);
  };
}

/** The caller, or why it may make no call. */
function callerOf(request: HttpRequest, guard: BrowserGuard, access: LocationAccess): [Caller, ApiError | undefined] {
  const { localAddress } = request.connection;
  const rejection = guard.refusal({ header: (name) => request.header(name), localAddress });
  if (rejection !== undefined) return [NOBODY, rejection];
  try {
    return [access.callerOf(request), undefined];
  } catch (error) {
    if (error instanceof ApiError) return [NOBODY, error];
    throw error;
  }
}

/** A request as a call. @param base of the location that holds the API */
function callOf(request: HttpRequest, base: string, { root }: ApiPlace, caller: Caller): ApiCall {
  const { method, args: query, requestId } = request;
  const below = stepsBelow(request, base, (path) => isPlaceOf(request as Request, path));
  return {
    method,
    base: encodeURI(base),
    steps: below && [...root.split('/').slice(1), ...below],
    href: pathOf(request.requestUri),
    query,
    requestId,
    client: request.connection.remoteAddress,
    caller,
    trail: new CallTrail(),
    header: (name) => request.header(name),
    body: (limit) => bodyOf(request, limit),
  };
}

/** True if a path leads to the location that the request is in. */
function isPlaceOf({ server, location, wholeLocation = location }: Request, path: string): boolean {
  return server.locations.find(path).location === wholeLocation;
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
  if (stream !== undefined) {
    if (request.method !== 'HEAD') return request.respond(status, type).pipe(stream);
    endUnread(stream);
  }
  return request.send(status, body, type);
}

/** A stream without a reader frees what it holds: its place, where their number is limited. */
function endUnread(stream: AsyncIterable<unknown>): void {
  stream[Symbol.asyncIterator]()
    .return?.()
    .catch(() => undefined);
}
