import type { ResourceLimits } from '../../config/holdings.js';
import { configErrorsOf, errorAt } from '../../config/errors.js';
import { wordHint } from '../../contract/suggest.js';
import type { HttpHandlers, Scope } from '../../contract/http.js';
import type { HttpModule, ModuleDeclaration, TlsSettings } from '../../contract/manifest.js';
import type { Log } from '../../contract/log.js';
import type { CompiledModule } from './unit-compiler.js';
import { errorOf, stackOf } from '../../contract/thrown.js';

/** A module as it was loaded. */
interface Unchecked {
  readonly declaration: ModuleDeclaration;
  readonly hooks: Hooks;
  readonly file: string;
  readonly resourceLimits?: ResourceLimits | undefined;
}

type Hooks = Pick<HttpModule, Step>;

type Step = 'compile' | 'compileServer' | 'compileTls';

/** What each step may return: the rest would never run. */
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
    'memberAttempt',
    'header',
    'log',
    'explain',
  ],
  compileServer: ['post_read', 'server_rewrite', 'explain'],
} as const satisfies Partial<Record<Step, readonly (keyof HttpHandlers)[]>>;

/** No handlers, but properties of `content`. */
const isMark = (name: string): boolean => name === 'limitsBody' || name === 'autoRedirect';

/** In the order of the table in docs/modules.md. */
const ALL_HANDLERS = ['post_read', 'server_rewrite', ...HANDLERS.compile];

/**
 * A module between its author's code and the compiler: what it throws, and handlers that nobody would call, are errors at the block that it
 * was to compile, with its name.
 */
export class CheckedModule implements CompiledModule {
  readonly declaration: ModuleDeclaration;
  readonly resourceLimits: ResourceLimits | undefined;
  readonly instance: HttpModule;
  readonly #file: string;
  /** The last failure in the log. */
  #logged: string | undefined;

  constructor(
    { declaration, hooks, file, resourceLimits }: Unchecked,
    private readonly log: Log,
  ) {
    this.declaration = declaration;
    this.resourceLimits = resourceLimits;
    this.#file = file;
    this.instance = {
      ...(hooks.compile && { compile: (scope) => this.#handlers('compile', hooks, scope) }),
      ...(hooks.compileServer && { compileServer: (scope) => this.#handlers('compileServer', hooks, scope) }),
      ...(hooks.compileTls && { compileTls: (scope) => this.#tls(hooks, scope) }),
    };
  }

  #handlers(step: keyof typeof HANDLERS, hooks: Hooks, scope: Scope): HttpHandlers | undefined {
    const handlers = this.#run(step, hooks, scope);
    // Plain JavaScript has more ways to say that there is nothing: `on && { … }`.
    if (!handlers) return undefined;
    if (typeof handlers !== 'object' || handlers instanceof Promise) {
      throw this.#error(
        scope,
        `"${step}" of module "${this.#name}" must return handlers`,
        'an object like { log: (request) => … } is expected',
      );
    }
    for (const [name, handler] of Object.entries(handlers)) this.#check(step, scope, name, handler);
    return handlers;
  }

  #tls(hooks: Hooks, scope: Scope): TlsSettings | undefined {
    const settings = this.#run('compileTls', hooks, scope);
    if (!settings) return undefined;
    if (typeof settings === 'object' && !(settings instanceof Promise)) return settings;
    throw this.#error(scope, `"compileTls" of module "${this.#name}" must return settings`, 'an object like { cert, key } is expected');
  }

  #check(step: keyof typeof HANDLERS, scope: Scope, name: string, handler: unknown): void {
    const known: readonly string[] = HANDLERS[step];
    if (!known.includes(name)) {
      const other = step === 'compile' ? 'compileServer' : 'compile';
      const belongs = (HANDLERS[other] as readonly string[]).includes(name);
      const hint = belongs ? `return it from "${other}"` : wordHint(name, ALL_HANDLERS);
      throw this.#error(scope, `"${step}" of module "${this.#name}" returns an unknown handler "${name}"`, hint);
    }
    if (name === 'explain') {
      this.#checkExplainers(step, scope, handler);
      return;
    }
    if (isMark(name) && handler !== undefined && handler !== true)
      throw this.#error(scope, `"${name}" of module "${this.#name}" must be true`, 'leave it out instead');
    if (!isMark(name) && handler !== undefined && typeof handler !== 'function') {
      throw this.#error(scope, `handler "${name}" of module "${this.#name}" must be a function`, 'it gets the request: (request) => …');
    }
  }

  #checkExplainers(step: keyof typeof HANDLERS, scope: Scope, explainers: unknown): void {
    if (explainers === undefined) return;
    if (typeof explainers !== 'object' || explainers === null)
      throw this.#error(
        scope,
        `"explain" of module "${this.#name}" must be an object`,
        'an object like { access: (request, notes) => … } is expected',
      );
    const known: readonly string[] = HANDLERS[step];
    for (const [name, explainer] of Object.entries(explainers)) {
      if (!known.includes(name) || name === 'explain')
        throw this.#error(scope, `"explain" of module "${this.#name}" has an unknown handler "${name}"`, wordHint(name, known));
      if (explainer !== 'run' && explainer !== undefined && typeof explainer !== 'function')
        throw this.#error(
          scope,
          `explanation of "${name}" of module "${this.#name}" must be a function or "run"`,
          'it gets request and notes: (request, notes) => …',
        );
    }
  }

  #run(step: Step, hooks: Hooks, scope: Scope): unknown {
    try {
      const returned: unknown = hooks[step]?.(scope);
      // Rejected below, or by what uses it; its rejection would end the thread.
      if (returned instanceof Promise) returned.catch(() => undefined);
      return returned;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (configErrorsOf(error)) throw error;
      const failed = `"${step}" of module "${this.#name}" failed`;
      this.#logOnce(`${failed}: ${stackOf(error)}`);
      throw this.#error(scope, `${failed}: ${error.message}`, 'the code of the module has thrown this: the error log has the stack');
    }
  }

  /** Thousands of locations may fail in the same way. */
  #logOnce(failure: string): void {
    if (failure !== this.#logged) this.log.write('crit', failure);
    this.#logged = failure;
  }

  #error({ directive }: Scope, message: string, hint: string): Error {
    return directive === undefined ? new Error(message) : errorAt(directive, message, undefined, `${hint} (${this.#file})`);
  }

  get #name(): string {
    return this.declaration.manifest.name;
  }
}
