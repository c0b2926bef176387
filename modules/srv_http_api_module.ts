import { rest, text } from '../core/module/args.js';
import { ApiError } from '../core/module/control.js';
import type { Handler, HttpHandlers, HttpRequest, LocationScope, Result, Scope } from '../core/module/http.js';
import { httpModule, type HttpModule } from '../core/module/manifest.js';
import { ApiRoutes, type ApiAnswer } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';
import { accessRules, type Decision } from './srv_http_api_module/access-rules.js';
import { BrowserGuard } from './srv_http_api_module/browser-guard.js';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const directives = {
  dyn_module_api: directive({ in: ['location'], doc: 'The REST API of all control modules lies below this location.', inherit: 'none' }),
  api_limit_except: directive({
    in: ['location'],
    args: { key: text('module_key'), methods: rest(text('METHOD')) },
    many: true,
    inherit: 'none',
    block: 'entries',
    doc: 'Rules for clients that use another method than these on the paths of one module.',
  }),
};

/** `api_limit_except KEY METHOD … { … }`. */
interface Limit {
  readonly key: string;
  readonly methods: ReadonlySet<string>;
  readonly allows: Decision;
}

/** The REST API as the content of a location of a control-plane server: `location /api { dyn_module_api; }`. */
@httpModule({ name: 'srv_http_api_module', api: 1, plane: 'control', directives })
export class ModuleApi implements HttpModule {
  constructor(private readonly routes: ApiRoutes) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    if (scope.conf.dyn_module_api !== true) return undefined;
    return { content: this.#content(basePath(scope), limits(scope), new BrowserGuard(serverNames(scope))) };
  }

  #content(base: string, rules: readonly Limit[], guard: BrowserGuard): Handler {
    return async (request) => {
      const { method, requestId } = request;
      const path = request.uri.slice(base.length);
      const call = {
        method,
        base,
        path,
        requestId,
        query: request.args,
        header: (name: string) => request.header(name),
        body: (limit: number) => bodyOf(request, limit),
      };
      const refusal = refused(request, path, rules, guard);
      return send(request, refusal ? this.routes.refuse(call, refusal) : await this.routes.answer(call));
    };
  }
}

function basePath(scope: Scope): string {
  const words = scope.directive?.args.map((word) => word.text) ?? [];
  const [first = '', second] = words;
  if (second !== undefined && first !== '^~')
    scope.fail('"dyn_module_api" needs a location with a prefix', 'dyn_module_api', 'write: location /api { dyn_module_api; }');
  return (second ?? first).replace(/\/$/, '');
}

function limits(scope: Scope): Limit[] {
  return Array.from(scope.directive?.block?.named('api_limit_except') ?? [], (line) => limit(scope, line));
}

function limit(scope: Scope, { args, block }: Directive): Limit {
  const [key = '', ...words] = args.map((word) => word.text);
  const methods = new Set(words.map((word) => word.toUpperCase()));
  const strange = words.find((word) => !METHODS.has(word.toUpperCase()));
  if (strange !== undefined) scope.fail(`invalid method "${strange}"`, 'api_limit_except', `one of: ${[...METHODS].join(', ')}`);
  // As with limit_except: who may GET may HEAD.
  if (methods.has('GET')) methods.add('HEAD');
  try {
    return { key, methods, allows: accessRules(block ?? []) };
  } catch (error) {
    return scope.fail(error instanceof Error ? error.message : String(error), 'api_limit_except');
  }
}

function serverNames(scope: Scope): string[] {
  let server: Scope | undefined = scope;
  while (server !== undefined && server.kind !== 'server') server = server.parent;
  return Array.from(server?.directive?.block?.named('server_name') ?? []).flatMap(({ args }) => args.map((word) => word.text));
}

function refused(request: HttpRequest, path: string, rules: readonly Limit[], guard: BrowserGuard): ApiError | undefined {
  const { remoteAddress, localAddress } = request.connection;
  try {
    guard.check({ header: (name) => request.header(name), localAddress });
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  const key = path.split('/')[2];
  const denies = rules.find((rule) => rule.key === key && !rule.methods.has(request.method) && !rule.allows(remoteAddress));
  return denies && new ApiError(403, 'AccessDenied', 'this client may not use this method here');
}

async function bodyOf(request: HttpRequest, limit: number): Promise<Buffer> {
  try {
    return await request.readBody(limit);
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'status' in error && error.status === 413) {
      throw new ApiError(413, 'PayloadTooLarge', `a body may have ${limit} bytes`);
    }
    throw error;
  }
}

function send(request: HttpRequest, { status, headers, type, body }: ApiAnswer): Result {
  for (const [name, value] of Object.entries(headers)) request.response.set(name, value);
  return request.send(status, body, type);
}
