import { wordHint } from '../../contract/suggest.js';
import type { HttpHandlers, Scope } from '../../contract/http.js';
import type { HttpModule } from '../../contract/manifest.js';
import type { Log } from '../../contract/log.js';
import { CheckedHooks, type UncheckedModule } from '../../run/checked-hooks.js';
import type { CompiledModule } from './unit-compiler.js';

type HandlerStep = keyof typeof HANDLERS;

/** Handlers that each step may return: others would never run. */
const HANDLERS = {
  compile: [
    'rewrite',
    'preaccess',
    'access',
    'precontent',
    'content',
    'defaultContent',
    'connect',
    'limitsBody',
    'error',
    'autoRedirect',
    'memberRequest',
    'memberFailure',
    'memberResponse',
    'memberReplaced',
    'memberAttempt',
    'memberAttemptEnd',
    'header',
    'log',
    'explain',
  ],
  compileServer: ['post_read', 'server_rewrite', 'explain'],
} as const satisfies Record<string, readonly (keyof HttpHandlers)[]>;

/** No handlers, but properties of `content`. */
const isMark = (name: string): boolean => name === 'limitsBody' || name === 'autoRedirect';

/** In the order of the table in docs/modules.md. */
const ALL_HANDLERS = ['post_read', 'server_rewrite', ...HANDLERS.compile];

/** A module for the compiler of `http`. */
export class CheckedModule extends CheckedHooks<Scope, HttpHandlers> implements CompiledModule {
  readonly instance: HttpModule;

  constructor(module: UncheckedModule<Scope>, log: Log) {
    super(module, log, 'request');
    const { compile, compileServer, compileTls } = module.hooks;
    this.instance = {
      ...(compile && { compile: (scope) => this.handlers('compile', scope) }),
      ...(compileServer && { compileServer: (scope) => this.handlers('compileServer', scope) }),
      ...(compileTls && { compileTls: (scope) => this.tls(scope) }),
    };
  }

  protected check(step: HandlerStep, scope: Scope, name: string, handler: unknown): void {
    const known: readonly string[] = HANDLERS[step];
    if (!known.includes(name)) {
      const other = step === 'compile' ? 'compileServer' : 'compile';
      const belongs = (HANDLERS[other] as readonly string[]).includes(name);
      const hint = belongs ? `return it from "${other}"` : wordHint(name, ALL_HANDLERS);
      throw this.error(scope, `"${step}" of module "${this.name}" returns an unknown handler "${name}"`, hint);
    }
    if (name === 'explain') {
      this.#checkExplainers(step, scope, handler);
      return;
    }
    if (isMark(name) && handler !== undefined && handler !== true)
      throw this.error(scope, `"${name}" of module "${this.name}" must be true`, 'leave it out instead');
    if (!isMark(name)) this.assertFunction(scope, name, handler);
  }

  #checkExplainers(step: HandlerStep, scope: Scope, explainers: unknown): void {
    if (explainers === undefined) return;
    if (typeof explainers !== 'object' || explainers === null)
      throw this.error(
        scope,
        `"explain" of module "${this.name}" must be an object`,
        'an object like { access: (request, notes) => … } is expected',
      );
    const known: readonly string[] = HANDLERS[step];
    for (const [name, explainer] of Object.entries(explainers)) {
      if (!known.includes(name) || name === 'explain')
        throw this.error(scope, `"explain" of module "${this.name}" has an unknown handler "${name}"`, wordHint(name, known));
      if (explainer !== 'run' && explainer !== undefined && typeof explainer !== 'function')
        throw this.error(
          scope,
          `explanation of "${name}" of module "${this.name}" must be a function or "run"`,
          'it gets request and notes: (request, notes) => …',
        );
    }
  }
}
