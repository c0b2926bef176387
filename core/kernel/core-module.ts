import type { Request } from '../http/request/request.js';
import { ErrorLog, type ErrorLogSinks } from '../log/error-log.js';
import { BlockErrorLogs } from './block-error-logs.js';
import type { HttpHandlers, HttpRequest, Scope } from '../contract/http.js';
import { httpModule } from '../contract/manifest.js';
import { mainDirectives } from './core-directives.js';

/** The kernel's own directives, declared like those of any module. Of these only `error_log` has an effect on single requests. */
@httpModule({ name: 'srv_core_module', api: 1, directives: mainDirectives })
export class CoreModule {
  /** Of servers and locations. */
  readonly #logs: BlockErrorLogs;

  constructor(log: ErrorLog) {
    this.#logs = new BlockErrorLogs(log);
    log.scopeBy((request) => this.#sinksOf(request));
  }

  compile(scope: Scope<typeof mainDirectives>): HttpHandlers | undefined {
    if (!isScoped(scope)) return undefined;
    const { directive, conf } = scope;
    if (directive !== undefined) this.#logs.open(directive, conf.error_log, scope);
    return undefined;
  }

  #sinksOf(request: HttpRequest): ErrorLogSinks | undefined {
    return this.#logs.of((request as Request).location.directive);
  }
}

/** True if there is an `error_log` below the main level, in this scope or around it. */
function isScoped(scope: Scope<typeof mainDirectives>): boolean {
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) if (at.own('error_log') && at.directive) return true;
  return false;
}
