import { accessRules, type Decision } from '../core/module/access-rules.js';
import { rest, text } from '../core/module/args.js';
import type { HttpHandlers, LocationScope, Scope } from '../core/module/http.js';
import { httpModule, type HttpModule } from '../core/module/manifest.js';
import { method, methodSet } from '../core/module/method.js';
import { clients } from '../core/module/network.js';
import { ApiRoutes, type ApiBase } from '../core/module/services.js';
import { directive, type Conf } from '../core/module/spec.js';
import type { Directive } from '../core/module/tree.js';

const rule = directive({
  in: ['api_limit_except'],
  args: clients({ all: true }),
  many: true,
  doc: 'Access rule for a client address; the first matching rule applies. Without one, access is allowed.',
});

const directives = {
  dyn_module_api: directive({ in: ['location'], inherit: 'none', doc: 'Serves the REST API of all control modules below this location.' }),
  api_limit_except: directive({
    in: ['location'],
    args: { key: text('module_key'), methods: rest(method('METHOD')) },
    many: true,
    inherit: 'none',
    block: { context: 'api_limit_except', directives: { allow: rule, deny: rule } },
    doc: 'Access rules for requests to one module with methods other than these.',
  }),
};

type ApiScope = LocationScope<typeof directives>;
type LimitConf = Conf<typeof directives>['api_limit_except'][number];

/** `api_limit_except KEY METHOD … { … }`. */
interface Limit {
  readonly key: string;
  readonly methods: ReadonlySet<string>;
  readonly allows: Decision;
}

/** The REST API as the content of a location of a control-plane server: `location /api { dyn_module_api; }`. */
@httpModule({ name: 'srv_http_api_module', api: 1, plane: 'control', directives })
export class ModuleApi implements HttpModule {
  /** The locations in force that hold the API, by the id of their server. */
  readonly #bases = new Map<number, Set<ApiBase>>();

  constructor(private readonly routes: ApiRoutes) {}

  compile(scope: ApiScope): HttpHandlers | undefined {
    if (scope.kind === 'server') return this.#server(scope);
    const lines = scope.own('api_limit_except') ? scope.lines('api_limit_except') : [];
    if (scope.conf.dyn_module_api !== true || scope.directive === undefined) return rejectRules(scope, lines);
    const { api_limit_except: confs } = scope.conf;
    const limits = scope.each(lines.entries(), ([at, line]) => limit(scope, line, confs[at]!, this.routes.keys));
    const allows = (key: string, method: string, address: string): boolean =>
      limits.every((rule) => rule.key !== key || rule.methods.has(method) || (rule.allows(address) ?? true));
    const base = { location: scope.directive, root: '' };
    this.#announce(scope, base);
    return {
      content: this.routes.content({ scope, root: '', allows }),
      error: this.routes.errors([base]),
      limitsBody: true,
    };
  }

  /** Requests that no location was found for get the error body of the API as well, where the server has such a location. */
  #server({ directive }: Scope): HttpHandlers | undefined {
    if (directive === undefined) return undefined;
    const { id } = directive;
    return {
      error: (request, status) => {
        const bases = this.#bases.get(id);
        return bases && this.routes.errors([...bases])(request, status);
      },
    };
  }

  /** Makes a location known while it is in force: its server may be the same from before to after. */
  #announce(scope: Scope, base: ApiBase): void {
    let outer: Scope | undefined = scope;
    while (outer !== undefined && outer.kind !== 'server') outer = outer.parent;
    const id = outer?.directive?.id;
    if (id === undefined) return;
    scope.register({
      commit: () => this.#bases.set(id, (this.#bases.get(id) ?? new Set()).add(base)),
      release: () => {
        const bases = this.#bases.get(id);
        bases?.delete(base);
        if (bases?.size === 0) this.#bases.delete(id);
      },
    });
  }
}

function rejectRules(scope: Scope, [line]: readonly Directive[]): undefined {
  if (line !== undefined) scope.fail('"api_limit_except" has no effect without "dyn_module_api"', line, 'put both into the same location');
}

function limit(scope: Scope, line: Directive, { key, methods, block }: LimitConf, keys: ReadonlySet<string>): Limit {
  if (!keys.has(key)) scope.fail(`unknown module key "${key}"`, line, `one of: ${[...keys].join(', ')}`);
  return { key, methods: methodSet(methods), allows: accessRules(line.block ?? [], block) };
}
