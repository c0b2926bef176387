import type { ApiAccessSettings, ApiLimit } from '../../core/contract/api-access.js';
import { accessRules, type Decision } from '../../core/toolkit/access-rules.js';
import { flag, number, rest, template, text, time } from '../../core/contract/args.js';
import { BasicAuthentication } from '../../core/toolkit/basic-authentication.js';
import { DECLINED, OK, type Handler, type HttpHandlers, type LocationScope, type Scope } from '../../core/contract/http.js';
import { httpModule, type HttpModule } from '../../core/contract/manifest.js';
import { method, methodSet } from '../../core/contract/method.js';
import { clients } from '../../core/contract/network.js';
import { openLog } from '../../core/toolkit/open-log.js';
import { ApiRoutes, type ApiPlace } from '../../core/contract/api-routes.js';
import { Log } from '../../core/contract/log.js';
import { LogFiles, type LogFile } from '../../core/contract/log-files.js';
import { directive, type Conf } from '../../core/contract/spec.js';
import type { Directive } from '../../core/contract/tree.js';

const IN = ['http', 'server', 'location'] as const;

const rule = directive({
  in: ['api_limit_except'],
  args: clients({ all: true }),
  many: true,
  doc: 'Access rule for a client address; the first matching rule applies. Without one, access is allowed.',
});
const limitDirectives = {
  allow: rule,
  deny: rule,
  auth_basic: directive({
    in: ['api_limit_except'],
    args: template('string | off'),
    default: 'off',
    doc: 'Requires a user name and a password (HTTP Basic authentication).',
  }),
  auth_basic_user_file: directive({
    in: ['api_limit_except'],
    args: template('file'),
    doc: 'File with users and hashes of their passwords.',
  }),
};

const directives = {
  dyn_module_api: directive({ in: ['location'], inherit: 'none', doc: 'Serves the REST API of all control modules below this location.' }),
  api_limit_except: directive({
    in: ['location'],
    args: { key: text('module_key'), methods: rest(method('METHOD')) },
    many: true,
    inherit: 'none',
    block: { context: 'api_limit_except', directives: limitDirectives },
    doc: 'Access rules for requests to one module with methods other than these.',
  }),
  api_tokens: directive({
    in: IN,
    args: text('file | off'),
    default: 'off',
    doc: 'Requires a token from clients of the API; the file has the hashes and scopes of all tokens. "srv token" edits it, a reload reads it.',
  }),
  api_client_certificate: directive({
    in: IN,
    args: { certificate: text('subject | sha256:fingerprint'), scopes: rest(text('scope')) },
    many: true,
    doc: 'Scopes of a client certificate (ssl_verify_client), named by its subject, in the form of $ssl_client_s_dn, or by its fingerprint.',
  }),
  api_read_only: directive({
    in: IN,
    args: flag(),
    default: 'off',
    doc: 'Rejects calls of the API that change something; dry runs are allowed.',
  }),
  api_failed_attempts: directive({
    in: IN,
    args: { count: number({ min: 0 }), within: time() },
    default: '10 1m',
    doc: 'Number of failed attempts to authenticate that a client address has within a time; further ones get 429. 0: no limit.',
  }),
  api_audit_log: directive({
    in: IN,
    args: text('file | off'),
    default: 'off',
    doc: 'File (mode 0600) that gets a line of JSON for each call of the API with a method other than GET, HEAD and OPTIONS: who, when, what.',
  }),
};

type ApiScope = LocationScope<typeof directives>;
type LimitConf = Conf<typeof directives>['api_limit_except'][number];

/** The REST API in a location of a control-plane server, and access to it: `location /api { dyn_module_api; }`. */
@httpModule({ name: 'srv_http_api_module', api: 1, plane: 'control', directives })
export class ModuleApi implements HttpModule {
  /** The current locations that hold the API, by the id of their server. */
  readonly #places = new Map<number, Set<ApiPlace>>();

  constructor(
    private readonly routes: ApiRoutes,
    private readonly files: LogFiles,
    private readonly log: Log,
    private readonly basic: BasicAuthentication,
  ) {}

  compile(scope: ApiScope): HttpHandlers | undefined {
    if (scope.kind === 'server') return this.#server(scope);
    if (scope.kind !== 'location') return undefined;
    this.routes.protect(scope, () => this.#settings(scope));
    if (scope.conf.dyn_module_api !== true) return rejectRules(scope);
    const place = { scope, root: '' };
    this.#announce(place);
    return this.routes.location(place);
  }

  #settings(scope: ApiScope): ApiAccessSettings {
    const { conf } = scope;
    const { count, within } = conf.api_failed_attempts;
    const lines = scope.own('api_limit_except') ? scope.lines('api_limit_except') : [];
    return {
      tokenFile: tokenFile(scope),
      certificates: conf.api_client_certificate.map((entry, at) => ({ ...entry, line: scope.lines('api_client_certificate')[at]! })),
      limits: scope.each(lines.entries(), ([at, line]) => this.#limit(scope, line, conf.api_limit_except[at]!)),
      isReadOnly: conf.api_read_only,
      failedAttempts: count === 0 ? undefined : { count, ms: within },
      auditLog: this.#auditLog(scope),
    };
  }

  #limit(scope: ApiScope, line: Directive, { key, methods, block }: LimitConf): ApiLimit {
    const { keys } = this.routes;
    if (!keys.has(key)) scope.fail(`unknown module key "${key}"`, line, `one of: ${[...keys].join(', ')}`);
    const handlers = [addressHandler(accessRules(line.block ?? [], block))];
    const { auth_basic: realm, auth_basic_user_file: file } = block;
    if (realm.constant !== 'off') {
      const [place] = line.block?.named('auth_basic') ?? [];
      if (file === undefined) scope.fail('"auth_basic" requires "auth_basic_user_file" in the same block', place);
      if (tokenFile(scope) !== undefined)
        scope.fail('"auth_basic" cannot be used together with "api_tokens"', place, 'a request has one field "Authorization"');
      handlers.push(this.basic.handler(scope, realm, file));
    }
    return { key, methods: methodSet(methods), handlers };
  }

  #auditLog(scope: ApiScope): LogFile | undefined {
    const { api_audit_log: name } = scope.conf;
    if (name === 'off') return undefined;
    const onLost = (reason: string): void => this.log.write('alert', `the audit log lacks lines: ${reason}`);
    return openLog(scope, this.files, { name, place: 'api_audit_log', onLost, secret: true, makesFolder: true });
  }

  /** Requests that no location was found for get the error body of the API as well, where the server has such a location. */
  #server({ directive }: Scope): HttpHandlers | undefined {
    if (directive === undefined) return undefined;
    const { id } = directive;
    return {
      error: (request, status) => {
        const places = this.#places.get(id);
        return places && this.routes.errors([...places])(request, status);
      },
    };
  }

  /** Makes a location known while it is active: its server may be the same from before to after. */
  #announce(place: ApiPlace): void {
    let outer: Scope | undefined = place.scope;
    while (outer !== undefined && outer.kind !== 'server') outer = outer.parent;
    const id = outer?.directive?.id;
    if (id === undefined) return;
    place.scope.register({
      commit: () => this.#places.set(id, (this.#places.get(id) ?? new Set()).add(place)),
      release: () => {
        const places = this.#places.get(id);
        places?.delete(place);
        if (places?.size === 0) this.#places.delete(id);
      },
    });
  }
}

function tokenFile({ conf, args }: ApiScope): string | undefined {
  return conf.api_tokens === 'off' ? undefined : args.path(conf.api_tokens, 'conf');
}

function rejectRules(scope: ApiScope): undefined {
  if (!scope.own('api_limit_except')) return;
  const message = '"api_limit_except" has no effect without "dyn_module_api"';
  scope.fail(message, 'api_limit_except', 'put both into the same location');
}

/** As `allow` and `deny` of a location. */
function addressHandler(decide: Decision): Handler {
  return ({ connection }) => {
    const isAllowed = decide(connection.remoteAddress);
    return isAllowed === undefined ? DECLINED : isAllowed ? OK : 403;
  };
}
