import { rest, text } from '../core/module/args.js';
import type { HttpHandlers, LocationScope, Scope } from '../core/module/http.js';
import { httpModule, type HttpModule } from '../core/module/manifest.js';
import { ApiRoutes } from '../core/module/services.js';
import { directive } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';
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
    if (scope.conf.dyn_module_api !== true) return undefined;
    const limits = Array.from(scope.directive?.block?.named('api_limit_except') ?? [], (line) => limit(scope, line));
    const allows = (key: string, method: string, address: string): boolean =>
      limits.every((rule) => rule.key !== key || rule.methods.has(method) || rule.allows(address));
    return { content: this.routes.content({ scope, root: '', allows }), limitsBody: true };
  }
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
