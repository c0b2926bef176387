import type { ExplainHandler, Explainers } from '../../contract/explain.js';
import { PHASES, type Handler, type HttpHandlers, type Phase } from '../../contract/http.js';
import type { ModuleDeclaration } from '../../contract/manifest.js';
import type { Directive } from '../../contract/tree.js';
import { HandlerSet, inOrder, orderOf, runOf, type OrderedHandler } from '../../run/handler-set.js';
import type { MadeHandlers, Steps } from './location.js';

/** Handlers of modules in one location, or in one server as a whole. */
export class LocationHandlers extends HandlerSet<Phase, Handler, NonNullable<HttpHandlers['log']>> {
  readonly #header: OrderedHandler<NonNullable<HttpHandlers['header']>>[] = [];
  readonly #explainers: Map<unknown, ExplainHandler> | undefined;
  readonly memberHandlers: NonNullable<HttpHandlers['memberResponse']>[] = [];
  readonly replacedHandlers: NonNullable<HttpHandlers['memberReplaced']>[] = [];
  readonly callHandlers: NonNullable<HttpHandlers['memberRequest']>[] = [];
  readonly callFailureHandlers: NonNullable<HttpHandlers['memberFailure']>[] = [];
  readonly attemptHandlers: NonNullable<HttpHandlers['memberAttempt']>[] = [];
  readonly attemptEndHandlers: NonNullable<HttpHandlers['memberAttemptEnd']>[] = [];
  /** Explanations of handlers that do not run. Empty in threads without explanations. */
  readonly explainers: ReadonlyMap<unknown, ExplainHandler>;
  readonly made: MadeHandlers[] = [];
  error: HttpHandlers['error'];
  defaultContent: Handler | undefined;
  connect: Handler | undefined;
  /** The owner of the content sets the limit of request bodies itself. */
  limitsBody = false;
  /** The owner of the content passes requests on. */
  autoRedirect = false;

  /** @param isExplained explanations are asked for in this thread */
  constructor(isExplained: boolean) {
    super(PHASES, 'location');
    this.#explainers = isExplained ? new Map() : undefined;
    this.explainers = this.#explainers ?? NOT_EXPLAINED;
  }

  /** See {@link HandlerSet.collect}. */
  add({ manifest }: ModuleDeclaration, handlers: HttpHandlers, place: number, directive: Directive | undefined): void {
    this.made.push({ place, handlers });
    this.collect(manifest, handlers, place, directive);
    this.#addExplainers(handlers, handlers.explain ?? {});
    if (handlers.header) this.#header.push({ order: orderOf(manifest, 'header'), place, run: handlers.header });
    if (handlers.memberResponse) this.memberHandlers.push(handlers.memberResponse);
    if (handlers.memberReplaced) this.replacedHandlers.push(handlers.memberReplaced);
    if (handlers.memberRequest) this.callHandlers.push(handlers.memberRequest);
    if (handlers.memberFailure) this.callFailureHandlers.push(handlers.memberFailure);
    if (handlers.memberAttempt) this.attemptHandlers.push(handlers.memberAttempt);
    if (handlers.memberAttemptEnd) this.attemptEndHandlers.push(handlers.memberAttemptEnd);
    if (handlers.limitsBody) this.limitsBody = true;
    if (handlers.autoRedirect) this.autoRedirect = true;
    this.error ??= handlers.error;
    this.defaultContent ??= handlers.defaultContent;
    this.connect ??= handlers.connect;
  }

  get headerFilters(): NonNullable<HttpHandlers['header']>[] {
    return inOrder(this.#header).map(runOf);
  }

  /** The handlers of the phases from `first` to `last` in the order they run. */
  steps(first: Phase, last: Phase): Steps {
    const handlers: Handler[] = [];
    const phases: number[] = [];
    for (let at = PHASES.indexOf(first); at <= PHASES.indexOf(last); at++) {
      for (const { run } of inOrder(this.inPhase(at))) {
        handlers.push(run);
        phases.push(at);
      }
    }
    return handlers.length === 0 ? NO_STEPS : { handlers, phases: Uint8Array.from(phases) };
  }

  /** How many handlers of a phase run before those of a module. @param place of the module among all */
  countBefore(phase: Phase, { manifest }: ModuleDeclaration, place: number): number {
    const order = orderOf(manifest, phase);
    const entries = this.inPhase(PHASES.indexOf(phase));
    return entries.filter((entry) => entry.order < order || (entry.order === order && entry.place <= place)).length;
  }

  #addExplainers(handlers: HttpHandlers, explainers: Explainers): void {
    for (const name of Object.keys(explainers) as (keyof Explainers)[]) {
      const [run, explain] = [handlers[name], explainers[name]];
      if (run !== undefined && explain !== undefined) this.#explainers?.set(run, explain);
    }
  }
}

const NOT_EXPLAINED: ReadonlyMap<unknown, ExplainHandler> = new Map();
const NO_STEPS: Steps = { handlers: [], phases: new Uint8Array(0) };
