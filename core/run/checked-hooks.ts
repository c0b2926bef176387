import { configErrorsOf, errorAt } from '../config/errors.js';
import type { ResourceLimits } from '../config/holdings.js';
import type { ModuleDeclaration, TlsSettings } from '../contract/manifest.js';
import type { Log } from '../contract/log.js';
import type { Directive } from '../contract/tree.js';
import { errorOf, stackOf } from '../contract/thrown.js';

type HandlerStep = 'compile' | 'compileServer';
type Step = HandlerStep | 'compileTls';
type Hooks<S> = { readonly [step in Step]?: (scope: S) => unknown };

const NOT_ASYNC = 'it returned a promise: it must not be async; read files with scope.file, and wait in "start"';

/** A module as it was loaded. */
export interface UncheckedModule<S> {
  readonly declaration: ModuleDeclaration;
  readonly hooks: Hooks<S>;
  readonly file: string;
  readonly resourceLimits?: ResourceLimits | undefined;
}

/**
 * A module between its author's code and a compiler: what it throws, and handlers that would never be called, are errors at the block that it
 * was to compile, with its name. `S` is the scope of a block, `H` its handlers.
 */
export abstract class CheckedHooks<S extends { readonly directive: Directive | undefined }, H extends object> {
  readonly declaration: ModuleDeclaration;
  readonly resourceLimits: ResourceLimits | undefined;
  protected readonly hooks: Hooks<S>;
  readonly #file: string;
  /** The last failure in the log. */
  #logged: string | undefined;

  /** @param subject what handlers are called with */
  constructor(
    { declaration, hooks, file, resourceLimits }: UncheckedModule<S>,
    private readonly log: Log,
    private readonly subject: 'request' | 'session',
  ) {
    this.declaration = declaration;
    this.hooks = hooks;
    this.resourceLimits = resourceLimits;
    this.#file = file;
  }

  /** @throws ConfigError for a handler that the engine would not call */
  protected abstract check(step: HandlerStep, scope: S, name: string, handler: unknown): void;

  /** @throws ConfigError */
  protected handlers(step: HandlerStep, scope: S): H | undefined {
    const handlers = this.#run(step, scope);
    // Plain JavaScript has more ways to say that there is nothing: `on && { … }`.
    if (!handlers) return undefined;
    if (typeof handlers !== 'object' || handlers instanceof Promise) {
      const hint = handlers instanceof Promise ? NOT_ASYNC : `an object like { log: (${this.subject}) => … } is expected`;
      throw this.error(scope, `"${step}" of module "${this.name}" must return handlers`, hint);
    }
    for (const [name, handler] of Object.entries(handlers)) this.check(step, scope, name, handler);
    return handlers as H;
  }

  /** @throws ConfigError */
  protected tls(scope: S): TlsSettings | undefined {
    const settings = this.#run('compileTls', scope);
    if (!settings) return undefined;
    if (typeof settings === 'object' && !(settings instanceof Promise)) return settings;
    const hint = settings instanceof Promise ? NOT_ASYNC : 'an object like { cert, key } is expected';
    throw this.error(scope, `"compileTls" of module "${this.name}" must return settings`, hint);
  }

  /** @throws ConfigError */
  protected assertFunction(scope: S, name: string, handler: unknown): void {
    if (handler === undefined || typeof handler === 'function') return;
    const hint = `it gets the ${this.subject}: (${this.subject}) => …`;
    throw this.error(scope, `handler "${name}" of module "${this.name}" must be a function`, hint);
  }

  protected error({ directive }: S, message: string, hint: string): Error {
    return directive === undefined ? new Error(message) : errorAt(directive, message, undefined, `${hint} (${this.#file})`);
  }

  protected get name(): string {
    return this.declaration.manifest.name;
  }

  #run(step: Step, scope: S): unknown {
    try {
      const returned: unknown = this.hooks[step]?.(scope);
      // Rejected by the caller, or by what uses it; its rejection would end the thread.
      if (returned instanceof Promise) returned.catch(() => undefined);
      return returned;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (configErrorsOf(error)) throw error;
      const failed = `"${step}" of module "${this.name}" failed`;
      this.#logOnce(`${failed}: ${stackOf(error)}`);
      throw this.error(
        scope,
        `${failed}: ${error.message}`,
        'the code of the module has thrown this: the [crit] line of the log has the stack',
      );
    }
  }

  /** Thousands of blocks may fail in the same way. */
  #logOnce(failure: string): void {
    if (failure !== this.#logged) this.log.write('crit', failure);
    this.#logged = failure;
  }
}
