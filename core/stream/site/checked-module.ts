import type { ResourceLimits } from '../../config/holdings.js';
import { configErrorsOf, errorAt } from '../../config/errors.js';
import type { ModuleDeclaration, StreamModule, TlsSettings } from '../../contract/manifest.js';
import type { Log } from '../../contract/log.js';
import { STREAM_PHASES, type StreamHandlers, type StreamScope } from '../../contract/stream.js';
import { wordHint } from '../../contract/suggest.js';
import { errorOf, stackOf } from '../../contract/thrown.js';

type Step = 'compile' | 'compileTls';

/** A module as it was loaded. */
interface Unchecked {
  readonly declaration: ModuleDeclaration;
  readonly hooks: Pick<StreamModule, Step>;
  readonly file: string;
  readonly resourceLimits?: ResourceLimits | undefined;
}

const HANDLERS: readonly string[] = [...STREAM_PHASES, 'content', 'log'];

/** A module between its author's code and the compiler: exceptions, and handlers that would never be called, are errors at the server. */
export class CheckedStreamModule {
  readonly declaration: ModuleDeclaration;
  readonly resourceLimits: ResourceLimits | undefined;
  readonly #hooks: Unchecked['hooks'];
  readonly #file: string;

  constructor(
    { declaration, hooks, file, resourceLimits }: Unchecked,
    private readonly log: Log,
  ) {
    this.declaration = declaration;
    this.resourceLimits = resourceLimits;
    this.#hooks = hooks;
    this.#file = file;
  }

  compile(scope: StreamScope): StreamHandlers | undefined {
    const handlers = this.#run('compile', scope);
    // Plain JavaScript has more ways to say that there is nothing: `on && { … }`.
    if (!handlers) return undefined;
    if (typeof handlers !== 'object' || handlers instanceof Promise)
      throw this.#error(scope, '"compile" must return handlers', 'an object like { log: (session) => … } is expected');
    for (const [name, handler] of Object.entries(handlers)) {
      if (!HANDLERS.includes(name)) throw this.#error(scope, `"compile" returns an unknown handler "${name}"`, wordHint(name, HANDLERS));
      if (handler !== undefined && typeof handler !== 'function')
        throw this.#error(scope, `handler "${name}" must be a function`, 'it gets the session: (session) => …');
    }
    return handlers;
  }

  compileTls(scope: StreamScope): TlsSettings | undefined {
    const settings = this.#run('compileTls', scope);
    if (!settings) return undefined;
    if (typeof settings === 'object' && !(settings instanceof Promise)) return settings;
    throw this.#error(scope, '"compileTls" must return settings', 'an object like { cert, key } is expected');
  }

  #run(step: Step, scope: StreamScope): unknown {
    try {
      const returned: unknown = this.#hooks[step]?.(scope);
      // Rejected by the caller; its rejection would end the thread.
      if (returned instanceof Promise) returned.catch(() => undefined);
      return returned;
    } catch (thrown) {
      const error = errorOf(thrown);
      if (configErrorsOf(error)) throw error;
      this.log.write('crit', `"${step}" of module "${this.declaration.manifest.name}" failed: ${stackOf(error)}`);
      throw this.#error(scope, `"${step}" failed: ${error.message}`, 'the code of the module has thrown this: the error log has the stack');
    }
  }

  #error({ directive }: StreamScope, message: string, hint: string): Error {
    const text = `module "${this.declaration.manifest.name}": ${message}`;
    return directive === undefined ? new Error(text) : errorAt(directive, text, undefined, `${hint} (${this.#file})`);
  }
}
