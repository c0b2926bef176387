import type { Request } from '../http/request/request.js';
import { ErrorLog, type ErrorLogSinks } from '../log/error-log.js';
import { LogTargetError } from '../log/log-file-error.js';
import type { HttpHandlers, HttpRequest, Scope } from '../contract/http.js';
import { httpModule } from '../contract/manifest.js';
import type { Directive } from '../contract/tree.js';
import { mainDirectives } from './core-directives.js';

/** The kernel's own directives, declared like those of any module. Of these only `error_log` has an effect on single requests. */
@httpModule({ name: 'srv_core_module', api: 1, directives: mainDirectives })
export class CoreModule {
  /** By the server or location whose requests they are for. */
  readonly #sinks = new WeakMap<Directive, ErrorLogSinks>();

  constructor(private readonly log: ErrorLog) {
    log.scopeBy((request) => this.#sinksOf(request));
  }

  compile(scope: Scope<typeof mainDirectives>): HttpHandlers | undefined {
    const { directive, conf } = scope;
    if (!directive || !isScoped(scope)) return undefined;
    try {
      const sinks = this.log.open(conf.error_log);
      this.#sinks.set(directive, sinks);
      const ready = sinks.ready.catch((error: Error) => scope.fail(error.message, 'error_log'));
      scope.register({ ready: ready.then(() => undefined), abort: () => sinks.close(), release: () => sinks.close() });
    } catch (error) {
      if (!(error instanceof LogTargetError)) throw error;
      scope.fail(error.message, 'error_log');
    }
    return undefined;
  }

  #sinksOf(request: HttpRequest): ErrorLogSinks | undefined {
    const { directive } = (request as Request).location;
    return directive && this.#sinks.get(directive);
  }
}

/** True if there is an `error_log` below the main level, in this scope or around it. */
function isScoped(scope: Scope<typeof mainDirectives>): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (at.directive && at.own('error_log')) return true;
  return false;
}
