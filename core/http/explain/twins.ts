import { type Handler, type HttpRequest, PHASES } from '../../contract/http.js';
import type { Location, Steps } from '../site/location.js';
import type { VirtualServer } from '../site/virtual-server.js';
import { ExplainedRequest } from './explained-request.js';
import type { Explained } from './recorder.js';

/**
 * Locations as they are for requests that are only explained: the same settings, and in the place of each handler one that says what it would
 * do. So the phases themselves are those of the traffic.
 */
export class Twins {
  readonly #locations = new WeakMap<Location, Location>();
  readonly #steps = new WeakMap<VirtualServer, Pick<VirtualServer, 'steps' | 'modules' | 'fallback'>>();

  locationOf(location: Location): Location {
    const known = this.#locations.get(location);
    if (known !== undefined) return known;
    const twin = this.#twin(location);
    this.#locations.set(location, twin);
    return twin;
  }

  /** The parts of a server besides its locations. */
  stepsOf(server: VirtualServer): Pick<VirtualServer, 'steps' | 'modules' | 'fallback'> {
    const known = this.#steps.get(server);
    if (known !== undefined) return known;
    const modules = new Map<unknown, string>();
    const twin = { steps: stepsOf(server.steps, server, modules), modules, fallback: this.locationOf(server.fallback) };
    this.#steps.set(server, twin);
    return twin;
  }

  #twin(location: Location): Location {
    const { branches, limitExcept, connect, content, defaultContent } = location;
    const modules = new Map<unknown, string>();
    for (const handler of location.callHandlers) modules.set(handler, location.modules.get(handler) ?? 'srv');
    return {
      // With the handlers `memberRequest`, which are not run: `Recorder.pass` asks for their explanations.
      ...location,
      steps: stepsOf(location.steps, location, modules),
      connect: connect && handlerOf(connect, 'content', location, modules),
      content: content && handlerOf(content, 'content', location, modules),
      defaultContent: defaultContent && handlerOf(defaultContent, 'content', location, modules),
      branches: branches && new Map(Array.from(branches, ([id, branch]) => [id, this.locationOf(branch)] as const)),
      limitExcept: limitExcept && { ...limitExcept, location: this.locationOf(limitExcept.location) },
      modules,
      error: undefined,
      headerFilters: [],
      memberHandlers: [],
      replacedHandlers: [],
      callFailureHandlers: [],
      attemptHandlers: [],
      attemptEndHandlers: [],
      logHandlers: [],
    };
  }
}

type Origin = Pick<Location, 'modules' | 'explainers'>;

function stepsOf({ handlers, phases }: Steps, origin: Origin, modules: Map<unknown, string>): Steps {
  return { handlers: handlers.map((handler, at) => handlerOf(handler, PHASES[phases[at] ?? 0] ?? 'rewrite', origin, modules)), phases };
}

function handlerOf(
  handler: Handler,
  phase: Explained['phase'],
  { modules: names, explainers }: Origin,
  modules: Map<unknown, string>,
): Handler {
  const module = names.get(handler) ?? 'srv';
  const explained: Explained = { phase, module, handler, explainer: explainers.get(handler) };
  const twin = (request: HttpRequest): number => {
    if (!(request instanceof ExplainedRequest)) throw new TypeError('only a request to be explained gets here');
    return request.explanation.run(explained, request);
  };
  modules.set(twin, module);
  return twin;
}
