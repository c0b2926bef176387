import { parseSource } from '../../contract/address.js';
import type { ExchangePlan } from '../../contract/exchanges.js';
import type { Scope, Template } from '../../contract/http.js';
import type { Conf } from '../../contract/spec.js';
import { assertSizes } from './buffering.js';
import { EXCHANGE_NAMES, type ExchangeConf, type exchangeDirectives } from './directives.js';
import { unprefixer } from './prefix.js';
import { SharedSettings } from './shared-settings.js';

/** Parts of a plan that do not depend on the protocol. */
export type CommonPlan = Pick<
  ExchangePlan,
  | 'prefix'
  | 'bind'
  | 'socketKeepalive'
  | 'passFields'
  | 'passBody'
  | 'connectTimeout'
  | 'sendTimeout'
  | 'readTimeout'
  | 'next'
  | 'hidden'
  | 'ignored'
  | 'forceRanges'
  | 'interceptErrors'
  | 'buffering'
  | 'ignoreClientAbort'
  | 'requestBuffering'
  | 'scope'
  | 'fail'
>;

/** A scope of a module that has the directives. */
export interface ExchangeScope<P extends string> extends Pick<Scope, 'directive' | 'fail' | 'lines'> {
  readonly conf: Conf<ReturnType<typeof exchangeDirectives<P>>>;
}

/** Settings of {@link exchangeDirectives} for the locations of one module. */
export class ExchangeSettings<const P extends string> {
  readonly #shared: SharedSettings;
  readonly #confOf: (conf: object) => ExchangeConf;
  /** Configurations whose sizes fit. Places that have none of the directives have that of the place around them. */
  readonly #fitting = new WeakSet<object>();

  /**
   * @param prefix of the names of its directives
   * @param hidden fields of a response that are not passed on, see {@link SharedSettings}
   */
  constructor(
    private readonly prefix: P,
    hidden: readonly string[],
  ) {
    this.#shared = new SharedSettings(hidden);
    this.#confOf = unprefixer(prefix, EXCHANGE_NAMES);
  }

  /**
   * Rejects values that do not fit to each other. {@link plan} does it for the places that pass requests; called at the beginning of `compile`,
   * it does so for all others as well.
   */
  assert(scope: ExchangeScope<P>): void {
    const { conf } = scope;
    if (this.#fitting.has(conf)) return;
    assertSizes(this.prefix, this.#confOf(conf), scope);
    this.#fitting.add(conf);
  }

  /** @param pass the directive that names the target, for errors */
  plan(scope: ExchangeScope<P>, pass: string): CommonPlan {
    this.assert(scope);
    const conf = this.#confOf(scope.conf);
    return {
      prefix: this.prefix,
      bind: this.#source(conf, scope),
      socketKeepalive: conf.socket_keepalive,
      passFields: conf.pass_request_headers,
      passBody: conf.pass_request_body,
      connectTimeout: conf.connect_timeout,
      sendTimeout: conf.send_timeout,
      readTimeout: conf.read_timeout,
      next: this.#shared.nextUpstream(conf),
      hidden: this.#shared.hidden(conf),
      ignored: this.#shared.ignored(conf),
      forceRanges: conf.force_ranges,
      interceptErrors: conf.intercept_errors,
      buffering: this.#shared.buffering(conf),
      ignoreClientAbort: conf.ignore_client_abort,
      requestBuffering: conf.request_buffering,
      scope: scope.directive ?? scope,
      fail: (message, hint) => scope.fail(message, pass, hint),
    };
  }

  #source({ bind }: ExchangeConf, scope: ExchangeScope<P>): Template | undefined {
    const name = `${this.prefix}_bind`;
    if (bind?.transparent !== undefined)
      scope.fail('"transparent" is not supported', name, 'Node.js cannot set the option IP_TRANSPARENT of a socket');
    if (bind === undefined || bind.address.constant === 'off') return undefined;
    const { constant } = bind.address;
    if (constant !== undefined && parseSource(constant) === undefined) scope.fail(`invalid address "${constant}"`, name);
    return bind.address;
  }
}
