import { errorAt } from '../../config/errors.js';
import type { ModuleDeclaration } from '../../contract/manifest.js';
import { STREAM_PHASES, type StreamHandler, type StreamHandlers } from '../../contract/stream.js';
import type { Directive } from '../../contract/tree.js';
import type { SessionSteps } from './server.js';

const DEFAULT_ORDER = 100;

interface Entry<T> {
  readonly phase: number;
  readonly order: number;
  /** Place of its module among all. */
  readonly place: number;
  readonly run: T;
}

/** Collects what modules return for one server and lays it out flat. */
export class StreamHandlerSet {
  /** Which module each of them came from: for the log. */
  readonly modules = new Map<unknown, string>();
  readonly #steps: Entry<StreamHandler>[] = [];
  readonly #log: Entry<NonNullable<StreamHandlers['log']>>[] = [];
  #content: { readonly module: string; readonly run: StreamHandler } | undefined;

  /**
   * Adds what a module returned. In the order of the modules.
   * @param place of the module among all
   * @throws ConfigError when a second module claims the content of the server
   */
  add({ manifest: { name, phases } }: ModuleDeclaration, handlers: StreamHandlers, place: number, server: Directive): void {
    for (const run of Object.values(handlers)) this.modules.set(run, name);
    for (const [phase, part] of STREAM_PHASES.entries()) {
      const run = handlers[part];
      if (run !== undefined) this.#steps.push({ phase, order: phases?.[part] ?? DEFAULT_ORDER, place, run });
    }
    if (handlers.log) this.#log.push({ phase: 0, order: phases?.log ?? DEFAULT_ORDER, place, run: handlers.log });
    if (handlers.content) this.#claim(name, handlers.content, server);
  }

  get content(): StreamHandler | undefined {
    return this.#content?.run;
  }

  get logHandlers(): NonNullable<StreamHandlers['log']>[] {
    return inOrder(this.#log).map(({ run }) => run);
  }

  get steps(): SessionSteps {
    const steps = inOrder(this.#steps);
    return {
      handlers: steps.map(({ run }) => run),
      phases: Uint8Array.from(steps, ({ phase }) => phase),
      places: Uint16Array.from(steps, ({ place }) => place),
    };
  }

  #claim(module: string, run: StreamHandler, server: Directive): void {
    const other = this.#content;
    if (other !== undefined)
      throw errorAt(
        server,
        `conflicting content handlers "${other.module}" and "${module}"`,
        undefined,
        'move one of them to another server',
      );
    this.#content = { module, run };
  }
}

function inOrder<T>(entries: readonly Entry<T>[]): readonly Entry<T>[] {
  return entries.toSorted((a, b) => a.phase - b.phase || a.order - b.order || a.place - b.place);
}
