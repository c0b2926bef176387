import { errorAt } from '../../config/errors.js';
import type { ExplainHandler, Explainers } from '../../contract/explain.js';
import { PHASES, type Handler, type HttpHandlers, type Phase } from '../../contract/http.js';
import type { ModuleDeclaration } from '../../contract/manifest.js';
import type { Directive } from '../../contract/tree.js';
import type { Steps } from './location.js';

const DEFAULT_ORDER = 100;
type Part = Phase | 'header' | 'log';

interface Entry<T> {
  readonly order: number;
  /** Place of its module among all. */
  readonly place: number;
  readonly run: T;
}

/** Collects what modules return for one scope and lays it out flat. */
export class HandlerSet {
  /** By the index of the phase. */
  readonly #phases: (Entry<Handler>[] | undefined)[] = [];
  readonly #header: Entry<NonNullable<HttpHandlers['header']>>[] = [];
  readonly #explainers: Map<unknown, ExplainHandler> | undefined;
  readonly #log: Entry<NonNullable<HttpHandlers['log']>>[] = [];
  readonly memberHandlers: NonNullable<HttpHandlers['memberResponse']>[] = [];
  readonly callHandlers: NonNullable<HttpHandlers['memberRequest']>[] = [];
  readonly callFailureHandlers: NonNullable<HttpHandlers['memberFailure']>[] = [];
  readonly attemptHandlers: NonNullable<HttpHandlers['memberAttempt']>[] = [];
  /** Which module each of them came from: for the log. */
  readonly modules = new Map<unknown, string>();
  #content: { readonly module: string; readonly run: Handler } | undefined;
  /** What tells of a handler that is not to run. Empty where nobody asks. */
  readonly explainers: ReadonlyMap<unknown, ExplainHandler>;
  error: HttpHandlers['error'];
  defaultContent: Handler | undefined;
  connect: Handler | undefined;
  /** The owner of the content sets the limit of request bodies itself. */
  limitsBody = false;
  /** The owner of the content passes requests on. */
  autoRedirect = false;

  /** @param isExplained explanations are asked for in this thread */
  constructor(isExplained: boolean) {
    this.#explainers = isExplained ? new Map() : undefined;
    this.explainers = this.#explainers ?? NOT_EXPLAINED;
  }

  /**
   * Adds what a module returned. In the order of the modules.
   * @param place of the module among all
   * @throws ConfigError when a second module claims the content of the location
   */
  add({ manifest }: ModuleDeclaration, handlers: HttpHandlers, place: number, directive: Directive | undefined): void {
    for (const run of Object.values(handlers)) this.modules.set(run, manifest.name);
    this.#addExplainers(handlers, handlers.explain ?? {});
    const order = (part: Part): number => orderOf(manifest, part);
    for (const [at, phase] of PHASES.entries()) {
      const run = handlers[phase];
      if (run !== undefined) (this.#phases[at] ??= []).push({ order: order(phase), place, run });
    }
    if (handlers.header) this.#header.push({ order: order('header'), place, run: handlers.header });
    if (handlers.memberResponse) this.memberHandlers.push(handlers.memberResponse);
    if (handlers.memberRequest) this.callHandlers.push(handlers.memberRequest);
    if (handlers.memberFailure) this.callFailureHandlers.push(handlers.memberFailure);
    if (handlers.memberAttempt) this.attemptHandlers.push(handlers.memberAttempt);
    if (handlers.log) this.#log.push({ order: order('log'), place, run: handlers.log });
    if (handlers.content) this.#claim(manifest.name, handlers.content, directive);
    if (handlers.limitsBody) this.limitsBody = true;
    if (handlers.autoRedirect) this.autoRedirect = true;
    this.error ??= handlers.error;
    this.defaultContent ??= handlers.defaultContent;
    this.connect ??= handlers.connect;
  }

  get content(): Handler | undefined {
    return this.#content?.run;
  }
  get headerFilters(): NonNullable<HttpHandlers['header']>[] {
    return inOrder(this.#header);
  }
  get logHandlers(): NonNullable<HttpHandlers['log']>[] {
    return inOrder(this.#log);
  }

  /** The handlers of the phases from `first` to `last` in the order they run. */
  steps(first: Phase, last: Phase): Steps {
    const handlers: Handler[] = [];
    const phases: number[] = [];
    for (let at = PHASES.indexOf(first); at <= PHASES.indexOf(last); at++) {
      for (const handler of inOrder(this.#phases[at] ?? [])) {
        handlers.push(handler);
        phases.push(at);
      }
    }
    return handlers.length === 0 ? NO_STEPS : { handlers, phases: Uint8Array.from(phases) };
  }

  /** How many handlers of a phase run before those of a module. @param place of the module among all */
  countBefore(phase: Phase, { manifest }: ModuleDeclaration, place: number): number {
    const order = orderOf(manifest, phase);
    const entries = this.#phases[PHASES.indexOf(phase)] ?? [];
    return entries.filter((entry) => entry.order < order || (entry.order === order && entry.place <= place)).length;
  }

  #addExplainers(handlers: HttpHandlers, explainers: Explainers): void {
    for (const name of Object.keys(explainers) as (keyof Explainers)[]) {
      const [run, explain] = [handlers[name], explainers[name]];
      if (run !== undefined && explain !== undefined) this.#explainers?.set(run, explain);
    }
  }

  #claim(module: string, run: Handler, place: Directive | undefined): void {
    const other = this.#content;
    if (other === undefined) {
      this.#content = { module, run };
      return;
    }
    const message = `conflicting content handlers "${other.module}" and "${module}"`;
    if (place === undefined) throw new Error(message);
    throw errorAt(place, message, undefined, 'move one of them to another location');
  }
}

const NOT_EXPLAINED: ReadonlyMap<unknown, ExplainHandler> = new Map();
const NO_STEPS: Steps = { handlers: [], phases: new Uint8Array(0) };

function orderOf({ phases }: ModuleDeclaration['manifest'], part: Part): number {
  return phases?.[part] ?? DEFAULT_ORDER;
}

function inOrder<T>(entries: readonly Entry<T>[]): T[] {
  if (entries.length < 2) return entries.map((entry) => entry.run);
  return [...entries].sort((a, b) => a.order - b.order).map((entry) => entry.run);
}
