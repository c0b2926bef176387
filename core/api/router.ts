import type { ApiAccessSettings } from '../contract/api-access.js';
import { ApiError, routesOf, type Call, type Reply } from '../contract/control.js';
import type { ErrorBody, HttpHandlers, HttpRequest, Scope } from '../contract/http.js';
import { ApiRoutes, type ApiPlace, type CarriedCall, type CarriedOut } from '../contract/api-routes.js';
import type { Log } from '../contract/log.js';
import type { Setting } from '../contract/setting.js';
import type { Directive } from '../contract/tree.js';
import { FailedAttempts } from './access/failed-attempts.js';
import { assertNotExposed, isOpenToUsers } from './access/exposed-address.js';
import { LocationAccess } from './access/location-access.js';
import { assertMayApply, assertMayUse } from './access/route-access.js';
import type { ApiCall, ApiResponse } from './api-call.js';
import { apiErrors } from './api-error-body.js';
import { apiLocation } from './api-location.js';
import { emptyResponse, errorResponse, responseOf, unlessUnwanted } from './api-response.js';
import { apiPage, pagePolicy, type ApiDocument } from './api-page.js';
import { GatheringDataPlane } from './gathering-data-plane.js';
import { carriedCall, carryOutTogether } from './joint-calls.js';
import { openApi } from './openapi.js';
import { replyError, responseOfRoute } from './reply-check.js';
import { readInput } from './request-input.js';
import { settingRoutes } from './settings/setting-routes.js';
import { makeRoute, RouteTable, type Match, type Route } from './route-table.js';
import { invalidFields } from './schema.js';
import { errorOf, stackOf } from '../contract/thrown.js';

/** The part of the path that the OpenAPI document has after `/v1/`, and its key in `api_limit_except`. */
const DOCUMENT = 'openapi.json';
/** The same for people. */
const PAGE = 'openapi.html';
const DOCUMENT_METHODS = 'GET, HEAD, OPTIONS';
/** Statuses that say that a client may not do something: an operator wants to see those. */
const REJECTED: ReadonlySet<number> = new Set([401, 403, 429]);

/** A module at work. */
interface RoutedModule {
  readonly instance: object;
  /** `key`: first part of its paths below `/v1/`. Undefined: it has no routes of its own. */
  readonly declaration: {
    readonly manifest: {
      readonly name: string;
      readonly key?: string;
      readonly root?: string;
      readonly dataModule?: string;
      readonly settings?: readonly Setting[];
    };
  };
}

/** The REST API: finds the route of a call, checks its input against the schemas, and makes one kind of response of every outcome. */
export class ControlRouter extends ApiRoutes {
  #routes = new RouteTable();
  #keys: ReadonlySet<string> = new Set([DOCUMENT]);
  #settings: readonly string[] = [];
  /** Of a change that is being prepared: what its configuration is checked against. */
  #preparedKeys: ReadonlySet<string> | undefined;
  /** Of the locations that are being compiled, or were. */
  readonly #access = new WeakMap<Directive, () => ApiAccessSettings>();
  readonly #failures = new FailedAttempts();
  #isOpenToUsers = false;

  /**
   * @param version of the server, for the OpenAPI document
   * @param dataPlane absent where there is none: a check of a configuration
   */
  constructor(
    private readonly log: Log,
    private readonly version: string,
    private readonly dataPlane = new GatheringDataPlane(),
  ) {
    super();
  }

  /** Prepares to serve the routes of these modules and no others. */
  prepare(modules: Iterable<RoutedModule>): { commit(): void; abort(): void } {
    const routes = new RouteTable();
    const keys = new Set([DOCUMENT]);
    const settings: string[] = [];
    for (const { instance, declaration } of modules) {
      const { name, key, root, dataModule, settings: declared = [] } = declaration.manifest;
      for (const setting of declared) {
        settings.push(setting.key);
        keys.add(setting.key);
        for (const route of settingRoutes(setting, name, this.dataPlane)) routes.add(route);
      }
      if (key === undefined) continue;
      keys.add(key);
      for (const declaration of routesOf(instance)) routes.add(makeRoute(instance, { name, key, root, dataModule }, declaration));
    }
    this.#preparedKeys = keys;
    return {
      commit: () => {
        this.#routes = routes;
        this.#keys = keys;
        this.#settings = settings.toSorted();
        this.#preparedKeys = undefined;
      },
      abort: () => void (this.#preparedKeys = undefined),
    };
  }

  /** A location lets every user of this machine change the configuration. For a router that checks one configuration. */
  get isOpenToUsers(): boolean {
    return this.#isOpenToUsers;
  }

  get keys(): ReadonlySet<string> {
    return this.#preparedKeys ?? this.#keys;
  }

  get settings(): readonly string[] {
    return this.#settings;
  }

  protect({ directive }: Scope, settings: () => ApiAccessSettings): void {
    if (directive !== undefined) this.#access.set(directive, settings);
  }

  location(place: ApiPlace): HttpHandlers {
    const { scope } = place;
    const settings = scope.directive && this.#access.get(scope.directive);
    if (settings === undefined) return scope.fail('the API requires the module "srv_http_api_module"');
    const access = new LocationAccess(scope, settings(), this.keys);
    assertNotExposed(scope, access);
    this.#isOpenToUsers ||= isOpenToUsers(scope, access);
    return { ...apiLocation({ router: this, place, access, failures: this.#failures }), error: this.errors([place]) };
  }

  errors(places: readonly ApiPlace[]): (request: HttpRequest, status: number) => ErrorBody {
    return apiErrors(this, places);
  }

  transact({ request, ...context }: Call, calls: readonly CarriedCall[]): Promise<CarriedOut> {
    const carried = calls.map((call) => carriedCall(request as ApiCall, call));
    return carryOutTogether(carried, (call) => this.respond(call), this.dataPlane, context);
  }

  async respond(call: ApiCall): Promise<ApiResponse> {
    try {
      return await this.#respond(call);
    } catch (error) {
      return this.#failure(call, error);
    }
  }

  reject(call: ApiCall, failure: ApiError): ApiResponse {
    return this.#failure(call, failure);
  }

  /** Methods of a path for `Allow`. Undefined: there is no such path. */
  allowed(steps: readonly string[]): string | undefined {
    if (isDocument(steps)) return DOCUMENT_METHODS;
    const match = this.#routes.find(steps);
    return match && methodsOf(match);
  }

  async #respond(call: ApiCall): Promise<ApiResponse> {
    const { steps } = call;
    if (steps !== undefined && isDocument(steps)) return this.#document(call);
    const match = steps && this.#routes.find(steps);
    if (match === undefined) throw new ApiError(404, 'PathNotFound', `path "${call.href}" not found`);
    const route = routeFor(call.method, match);
    call.trail.route = route?.path;
    call.trail.module = route?.module;
    await assertMayUse(call, match, route);
    if (route === undefined) return this.#notAllowed(call, methodsOf(match));
    try {
      return await this.#call(call, route, match);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      const told = withLoadLine(error, route);
      throw route.schemas.failure?.(told) ?? told;
    }
  }

  async #call(call: ApiCall, route: Route, match: Match): Promise<ApiResponse> {
    const { params } = match;
    const { body, query, dryRun, minimal, wait, fields, message } = await readInput(call, route);
    call.trail.isDryRun = dryRun;
    call.trail.message = message;
    assertMayApply(call, match, route, { body, dryRun });
    const reply = await route.handle({
      base: call.base,
      params,
      query: query as never,
      body: body as never,
      dryRun,
      minimal,
      wait,
      ifMatch: call.header('if-match'),
      ifNoneMatch: call.header('if-none-match'),
      requestId: call.requestId,
      lastEventId: call.header('last-event-id'),
      accept: call.header('accept'),
      actor: call.caller.actor,
      access: call.caller.access,
      message,
      applied: (change) => void (call.trail.change = change),
      request: call,
    });
    // Errors of the reply as a whole are reported below.
    if (replyError(reply) !== undefined) return responseOfRoute(call, route, reply);
    if (fields === undefined)
      return responseOfRoute(call, route, minimal && !dryRun ? unlessUnwanted(reply) : withOutcome(reply, call, route));
    if (reply.type !== undefined) throw invalidFields([{ pointer: '?fields', message: 'requires a JSON response' }]);
    return responseOfRoute(call, route, { ...reply, body: selected(reply.body, fields) } satisfies Reply);
  }

  async #document(call: ApiCall): Promise<ApiResponse> {
    await call.caller.assertMayUse({ method: call.method, key: DOCUMENT, isWrite: false, upstream: undefined, isCommon: true });
    if (call.method !== 'GET' && call.method !== 'HEAD') return this.#notAllowed(call, DOCUMENT_METHODS);
    const document = openApi(this.#routes, call.base, this.version);
    if (call.steps?.[1] !== PAGE) return responseOf(call, { status: 200, body: document });
    const body = apiPage(document as unknown as ApiDocument);
    return responseOf(call, { status: 200, body, type: 'text/html', headers: { 'Content-Security-Policy': pagePolicy() } });
  }

  /** OPTIONS returns the methods of the path; any other method is an error. */
  #notAllowed(call: ApiCall, allow: string): ApiResponse {
    if (call.method === 'OPTIONS') return emptyResponse(204, { Allow: allow });
    const failure = new ApiError(405, 'MethodNotAllowed', `method ${call.method} is not allowed, use one of: ${allow}`);
    const response = this.#failure(call, failure);
    return { ...response, headers: { ...response.headers, Allow: allow } };
  }

  #failure(call: ApiCall, thrown: unknown): ApiResponse {
    const error = errorOf(thrown);
    const known = error instanceof ApiError;
    const failure = known ? error : new ApiError(500, 'InternalError', 'unexpected internal error, see the error log');
    const { method, href, requestId, client, trail } = call;
    const reason = known ? failure.message : `${trail.module === undefined ? '' : `module "${trail.module}": `}${stackOf(error)}`;
    trail.code = failure.code;
    this.log.write(
      failure.status >= 500 ? 'error' : REJECTED.has(failure.status) ? 'warn' : 'info',
      `api: ${method} ${href}: ${failure.status} ${failure.code}, request_id: ${requestId}: ${reason}, client: ${client}`,
    );
    return errorResponse(call, failure);
  }
}

/** Error of the data plane for an unknown action, with the `load_module` line. */
function withLoadLine(error: ApiError, { dataModule }: Route): ApiError {
  if (error.code !== 'NotLoaded' || dataModule === undefined) return error;
  const line = `load_module modules/${dataModule}.so;`;
  return new ApiError(error.status, error.code, `${error.message}: add "${line}" to its configuration and reload`, [
    { module: dataModule, line },
  ]);
}

/** An object says as well which nodes have the change, unless it is of the API of another program. */
function withOutcome(reply: Reply, { trail }: ApiCall, { schemas }: Route): Reply {
  const cluster = trail.change?.cluster;
  const { body } = reply;
  const isOwnObject = typeof body === 'object' && body !== null && !Array.isArray(body) && schemas.failure === undefined;
  return cluster === undefined || !isOwnObject ? reply : { ...reply, body: { ...body, cluster } };
}

function isDocument(steps: readonly string[]): boolean {
  return steps.length === 2 && steps[0] === 'v1' && (steps[1] === DOCUMENT || steps[1] === PAGE);
}

function routeFor(method: string, { routes }: Match): Route | undefined {
  for (const [verb, route] of routes) if (verb === method || (verb === 'GET' && method === 'HEAD')) return route;
  return undefined;
}

function methodsOf({ routes }: Match): string {
  const verbs = [...routes.keys()].flatMap((verb) => (verb === 'GET' ? ['GET', 'HEAD'] : [verb]));
  return [...verbs, 'OPTIONS'].join(', ');
}

/** Only these fields of an object, or of each entry of an array. */
function selected(body: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(body)) return body.map((entry) => selected(entry, fields));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => fields.includes(name)));
}
