import { Exchanges } from '../../core/contract/exchanges.js';
import type { HttpHandlers, HttpRequest } from '../../core/contract/http.js';
import { Log } from '../../core/contract/log.js';
import { httpModule } from '../../core/contract/manifest.js';
import type { MemberCodec, MemberConnection, MemberProtocol } from '../../core/contract/member.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import type { Directive } from '../../core/contract/tree.js';
import { ExchangeSettings } from '../../core/toolkit/exchange/exchange-settings.js';
import { protocolPlan } from '../../core/toolkit/exchange/protocol-plan.js';
import { ResponseStores } from '../../core/toolkit/exchange/response-store.js';
import { directives, type FastcgiScope } from './directives.js';
import { type CodecOwner, FastcgiCodec, type RequestSettings } from './fastcgi-codec.js';
import { Params } from './params.js';
import { scriptOf, type ScriptSettings } from './script-name.js';

/** Settings of a location. */
interface LocationSettings extends RequestSettings, ScriptSettings {}

/** Passes requests to FastCGI servers (ngx_http_fastcgi_module). Choice, connections and retries are the core's. */
@httpModule({ name: 'srv_http_fastcgi_module', api: 1, directives, needs: ['srv_http_upstream_module'] })
export class Fastcgi implements CodecOwner {
  readonly #locations = new WeakMap<Directive, LocationSettings>();
  readonly #settings = new ExchangeSettings('fastcgi', ['status']);
  /** By `fastcgi_keep_conn`: connections of the same kind are shared. */
  readonly #keeping: MemberProtocol = this.#protocol(true);
  readonly #closing: MemberProtocol = this.#protocol(false);
  readonly #stores: ResponseStores<'fastcgi'>;

  constructor(
    private readonly exchanges: Exchanges,
    private readonly log: Log,
    info: ServerInfo,
  ) {
    this.#stores = new ResponseStores('fastcgi', info, log);
  }

  readonly variables = {
    fastcgi_script_name: (request: HttpRequest): string => scriptOf(request, this.#at(request) ?? NO_SCRIPT).name,
    fastcgi_path_info: (request: HttpRequest): string => scriptOf(request, this.#at(request) ?? NO_SCRIPT).pathInfo,
  };

  compile(scope: FastcgiScope): HttpHandlers | undefined {
    this.#settings.assert(scope);
    const { conf } = scope;
    if (needsSettings(scope) && scope.directive !== undefined) {
      this.#locations.set(scope.directive, {
        params: new Params(
          conf.fastcgi_param.map(({ name, value, condition }) => ({
            name,
            value,
            omitsEmpty: condition !== undefined || name.startsWith('HTTP_'),
          })),
          conf.fastcgi_pass_request_headers,
        ),
        headSize: conf.fastcgi_buffer_size,
        failures: conf.fastcgi_catch_stderr,
        index: conf.fastcgi_index,
        split: conf.fastcgi_split_path_info,
      });
    }
    const target = scope.own('fastcgi_pass') ? conf.fastcgi_pass : undefined;
    if (target === undefined) return undefined;
    const protocol = conf.fastcgi_keep_conn ? this.#keeping : this.#closing;
    const common = this.#settings.plan(scope, 'fastcgi_pass');
    const content = this.exchanges.compile(protocolPlan(common, { protocol, target, defaultPort: 0, shownScheme: 'fastcgi' }));
    const memberResponse = this.#stores.handler(scope);
    return {
      autoRedirect: true,
      ...(memberResponse && { memberResponse }),
      content,
      explain: { content: (request, notes) => this.exchanges.explain(content, request, notes) },
    };
  }

  settings(request: HttpRequest): RequestSettings {
    const settings = this.#at(request);
    if (settings === undefined) throw new Error('the request is in no location with fastcgi_pass');
    return settings;
  }

  onError(request: HttpRequest, text: string): void {
    this.log.write('error', `FastCGI sent in stderr: "${text}" while reading upstream`, request);
  }

  #at({ scope: { directive } }: HttpRequest): LocationSettings | undefined {
    return directive && this.#locations.get(directive);
  }

  #protocol(keeps: boolean): MemberProtocol {
    return {
      needsLength: true,
      speak: (connection: MemberConnection): MemberCodec => new FastcgiCodec(connection, this, keeps),
    };
  }
}

/** Blocks that pass requests, or whose variables have values of their own. Parts of a location may pass requests as it does. */
function needsSettings({ kind, conf }: FastcgiScope): boolean {
  const isPart = kind !== 'location' && kind !== 'server';
  return isPart || conf.fastcgi_pass !== undefined || conf.fastcgi_index !== undefined || conf.fastcgi_split_path_info !== undefined;
}

const NO_SCRIPT: ScriptSettings = { index: undefined, split: undefined };
