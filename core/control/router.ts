import { ApiError, routesOf, type Reply } from '../module/control.js';
import type { Handler } from '../module/http.js';
import { ApiRoutes, type ApiPlace, type Log } from '../module/services.js';
import type { ApiAnswer, ApiCall } from './api-call.js';
import { apiContent } from './api-content.js';
import { openApi } from './openapi.js';
import { readInput } from './request-input.js';
import { makeRoute, RouteTable, type Match, type Route } from './route-table.js';
import { invalidFields } from './schema.js';

const JSON_TYPE = 'application/json';
/** Answers change from call to call, and hold nothing that a browser may take for something else. */
const COMMON_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

/** The REST API: finds the route of a call, checks what it brings against the schemas, and makes one kind of answer of whatever happens. */
export class ControlRouter extends ApiRoutes {
  readonly #routes = new RouteTable();

  /** @param version of the server, for the OpenAPI document */
  constructor(
    private readonly log: Log,
    private readonly version: string,
  ) {
    super();
  }

  /** Takes the routes of a control module; those it had before are replaced. */
  register(module: object, { key }: { readonly key: string }): void {
    this.#routes.remove(key);
    for (const declaration of routesOf(module)) this.#routes.add(makeRoute(module, key, declaration));
  }

  content(place: ApiPlace): Handler {
    return apiContent(this, place);
  }

  async answer(call: ApiCall): Promise<ApiAnswer> {
    try {
      return await this.#answer(call);
    } catch (error) {
      return this.#failure(call, error);
    }
  }

  refuse(call: ApiCall, failure: ApiError): ApiAnswer {
    return this.#failure(call, failure);
  }

  async #answer(call: ApiCall): Promise<ApiAnswer> {
    if (call.path.replace(/\/$/, '') === '/v1/openapi.json') return this.#document(call);
    const match = this.#routes.find(call.path);
    if (match === undefined) throw new ApiError(404, 'PathNotFound', `no such path: ${call.uri}`);
    const route = routeFor(call.method, match);
    if (route === undefined) return notAllowed(call, allowOf(match));
    const { body, query, dryRun, fields } = await readInput(call, route);
    const reply = await route.handle({
      base: call.base,
      params: match.params,
      query: query as never,
      body: body as never,
      dryRun,
      ifMatch: call.header('if-match'),
      ifNoneMatch: call.header('if-none-match'),
      requestId: call.requestId,
    });
    if (fields !== undefined && reply.type !== undefined) throw invalidFields([{ pointer: '?fields', message: 'is for answers in JSON' }]);
    const headers = { ...reply.headers, ...(reply.next !== undefined && { Link: linkTo(call, reply.next) }) };
    return answerOf({ ...reply, headers, body: fields === undefined ? reply.body : selected(reply.body, fields) });
  }

  #document(call: ApiCall): ApiAnswer {
    if (call.method !== 'GET' && call.method !== 'HEAD') return notAllowed(call, 'GET, HEAD, OPTIONS');
    return answerOf({ status: 200, body: openApi(this.#routes, call.base, this.version) });
  }

  #failure(call: ApiCall, error: unknown): ApiAnswer {
    const known = error instanceof ApiError;
    const failure = known ? error : new ApiError(500, 'InternalError', 'internal error; the error log of the server says more');
    const reason = known ? failure.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
    const { method, path, requestId } = call;
    this.log.write(
      failure.status >= 500 ? 'error' : 'info',
      `api: ${method} ${path}: ${failure.status} ${failure.code}, request_id: ${requestId}: ${reason}`,
    );
    return failureAnswer(call, failure);
  }
}

/** The one error body. */
function failureAnswer({ uri, requestId }: Pick<ApiCall, 'uri' | 'requestId'>, failure: ApiError): ApiAnswer {
  const { status, code, message: text, details } = failure;
  return answerOf({ status, body: { error: { status, code, text, details }, request_id: requestId, href: uri } });
}

function routeFor(method: string, { routes }: Match): Route | undefined {
  for (const [verb, route] of routes) if (verb === method || (verb === 'GET' && method === 'HEAD')) return route;
  return undefined;
}

function allowOf({ routes }: Match): string {
  const verbs = [...routes.keys()].flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]));
  return [...verbs, 'OPTIONS'].join(', ');
}

/** OPTIONS is answered with what is allowed; anything else is an error that says so. */
function notAllowed(call: ApiCall, allow: string): ApiAnswer {
  if (call.method === 'OPTIONS') return { status: 204, headers: { ...COMMON_HEADERS, Allow: allow }, type: undefined, body: '' };
  const answer = failureAnswer(
    call,
    new ApiError(405, 'MethodNotAllowed', `${call.method} is not possible here; these methods are: ${allow}`),
  );
  return { ...answer, headers: { ...answer.headers, Allow: allow } };
}

function answerOf({ status, body, type, headers, version }: Reply): ApiAnswer {
  const all = { ...COMMON_HEADERS, ...headers, ...(version !== undefined && { ETag: `"${version}"` }) };
  if (body === undefined) return { status, headers: all, type: undefined, body: '' };
  if (typeof body === 'string' && type !== undefined) return { status, headers: all, type, body };
  return { status, headers: all, type: JSON_TYPE, body: JSON.stringify(body) };
}

/** The same list, from another place on (RFC 8288). */
function linkTo({ uri, query }: ApiCall, after: string): string {
  const parameters = new URLSearchParams(query);
  parameters.set('after', after);
  return `<${uri}?${parameters.toString()}>; rel="next"`;
}

/** Only these fields of an object, or of each entry of an array. */
function selected(body: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(body)) return body.map((entry) => selected(entry, fields));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => fields.includes(name)));
}
