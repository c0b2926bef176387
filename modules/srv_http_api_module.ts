import { rest, text } from '../core/module/args.js';
import type { HttpHandlers, LocationScope, Scope } from '../core/module/http.js';
import { httpModule, type HttpModule } from '../core/module/manifest.js';
import { ApiRoutes } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import type { Block, Directive } from '../core/module/tree.js';
import { accessRules, type Decision } from './srv_http_api_module/access-rules.js';

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

const directives = {
  dyn_module_api: directive({ in: ['location'], inherit: 'none', doc: 'The REST API of all control modules lies below this location.' }),
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
    if (scope.kind === 'server') return this.#server(scope);
    const lines = Array.from(scope.directive?.block?.named('api_limit_except') ?? []);
    if (scope.conf.dyn_module_api !== true || scope.directive === undefined) return rejectRules(scope, lines);
    const limits = scope.each(lines, (line) => limit(scope, line, this.routes.keys));
    const allows = (key: string, method: string, address: string): boolean =>
      limits.every((rule) => rule.key !== key || rule.methods.has(method) || rule.allows(address));
    return {
      content: this.routes.content({ scope, root: '', allows }),
      error: this.routes.errors([{ location: scope.directive, root: '' }]),
      limitsBody: true,
    };
  }

  /** Requests that no location was found for get the error body of the API as well. */
  #server({ directive }: Scope): HttpHandlers | undefined {
    const places = Array.from(apiLocations(directive?.block), (location) => ({ location, root: '' }));
    return places.length > 0 ? { error: this.routes.errors(places) } : undefined;
  }
}

function* apiLocations(block: Block | undefined): Generator<Directive> {
  for (const location of block?.named('location') ?? []) {
    const [line] = location.block?.named('dyn_module_api') ?? [];
    if (line !== undefined) yield location;
    yield* apiLocations(location.block);
  }
}

function rejectRules(scope: Scope, [line]: readonly Directive[]): undefined {
  if (line !== undefined) scope.fail('"api_limit_except" has no effect without "dyn_module_api"', line, 'put both into the same location');
}

function limit(scope: Scope, line: Directive, keys: ReadonlySet<string>): Limit {
  const [key = '', ...words] = line.args.map((word) => word.text);
  if (!keys.has(key)) scope.fail(`unknown module key "${key}"`, line, `one of: ${[...keys].join(', ')}`);
  const methods = new Set(words.map((word) => word.toUpperCase()));
  const unknown = words.find((word) => !METHODS.has(word.toUpperCase()));
  if (unknown !== undefined) scope.fail(`invalid method "${unknown}"`, line, `one of: ${[...METHODS].join(', ')}`);
  // As with limit_except: GET allows HEAD.
  if (methods.has('GET')) methods.add('HEAD');
  try {
    return { key, methods, allows: accessRules(line.block ?? []) };
  } catch (error) {
    return scope.fail(error instanceof Error ? error.message : String(error), line);
  }
}
