import type {
  ExplainedLocation,
  ExplainedResponse,
  ExplainedServer,
  ExplainedStep,
  ExplainedUpstream,
  ExplainHandler,
  ExplainNotes,
  Facts,
} from '../../contract/explain.js';
import { DECLINED, DONE, type Handler, type Result } from '../../contract/http.js';
import type { Request } from '../request/request.js';
import { statusText } from '../request/status.js';
import { readable } from './readable.js';

type StepPhase = ExplainedStep['phase'];

/** A handler, and how its module explains it. */
export interface Explained {
  readonly phase: StepPhase;
  readonly module: string;
  readonly handler: Handler;
  readonly explainer: ExplainHandler | undefined;
}

/** Keeps what is said of one request. */
export class Recorder implements ExplainNotes {
  server: ExplainedServer | undefined = undefined;
  upstream: ExplainedUpstream | undefined = undefined;
  response: ExplainedResponse | undefined = undefined;
  readonly locations: ExplainedLocation[] = [];
  readonly steps: ExplainedStep[] = [];
  readonly assumptions: string[] = [];
  readonly log: string[] = [];
  /** The handler that is being explained. */
  #current: Explained | undefined = undefined;
  #request: Request | undefined = undefined;

  /** @param onFailure called when a module's code throws: what is logged for the request is a part of the explanation */
  constructor(private readonly onFailure: (module: string, thrown: unknown) => void) {}

  begin(request: Request): void {
    this.#request = request;
  }

  /** The request that is explained; undefined: its head is malformed. */
  get request(): Request | undefined {
    return this.#request;
  }

  /** A handler of a module is at work. */
  get isInHandler(): boolean {
    return this.#current !== undefined;
  }

  say(text: string, facts?: Facts): void {
    this.step(this.#current?.phase ?? 'response', text, facts);
  }

  assume(text: string): void {
    this.assumptions.push(readable(text));
  }

  end(text: string, status?: number): Result {
    const kept = this.#request?.errorStatus || status;
    this.#respond({ by: status === undefined ? 'module' : 'srv', ...(kept !== undefined && { status: kept }), text: readable(text) });
    return DONE;
  }

  pass(upstream: ExplainedUpstream): Result {
    const before = this.#askBeforeMember();
    if (before !== DECLINED) return before;
    this.upstream = upstream;
    const kept = this.#request?.errorStatus ?? 0;
    const text = `a member of upstream "${upstream.name}" responds${kept === 0 ? '' : `, with status ${kept} of the error page`}`;
    this.#respond({ by: 'upstream', ...(kept !== 0 && { status: kept }), text });
    return DONE;
  }

  logged(level: string, text: string): void {
    this.log.push(`[${level}] ${readable(text)}`);
  }

  /** Of the engine: no module has said it. */
  step(phase: StepPhase, text: string, facts?: Facts): void {
    const module = this.#current?.module;
    this.steps.push({ phase, ...(module !== undefined && { module }), text: readable(text), ...(facts && { facts }) });
  }

  /** The engine has made a response. */
  responded({ status, response }: Request): void {
    const location = response.get('Location');
    const text = statusText(status).trim();
    this.#respond({ by: 'srv', status, ...(location !== undefined && { location: readable(location) }), text });
  }

  /** The connection is closed instead of a response (444). */
  closed(): void {
    this.#respond({ by: 'connection', text: 'the connection is closed without a response' });
  }

  /** Explains a handler in its place in the phases. */
  run(explained: Explained, request: Request): Result {
    const before = this.#current;
    this.#current = explained;
    try {
      return this.#resultOf(explained, request);
    } catch (error) {
      this.onFailure(explained.module, error);
      throw error;
    } finally {
      this.#current = before;
    }
  }

  /** Modules that may respond in the place of a member. */
  #askBeforeMember(): Result {
    const request = this.#request;
    if (request === undefined) return DECLINED;
    const { callHandlers, modules, explainers } = request.location;
    for (const handler of callHandlers) {
      const module = modules.get(handler) ?? '';
      const explainer = explainers.get(handler);
      if (explainer === undefined || explainer === 'run') {
        this.assume(`${module} does not respond in the place of a member: it does not explain itself`);
        continue;
      }
      const result = this.run({ phase: 'content', module, handler: () => DECLINED, explainer }, request);
      if (result !== DECLINED) return result;
    }
    return DECLINED;
  }

  #resultOf({ phase, module, handler, explainer }: Explained, request: Request): Result {
    if (explainer === undefined) return this.#unknown(phase, `it is not known what ${module} does: it does not explain itself`);
    const said = this.steps.length;
    const result: unknown = explainer === 'run' ? handler(request) : explainer(request, this);
    if (result instanceof Promise) {
      result.catch((error: unknown) => this.onFailure(module, error));
      return this.#unknown(phase, `it is not known what ${module} does: it waits for something`);
    }
    if (typeof result === 'number' && result > 0 && this.steps.length === said) this.say(`responds with ${result}`, { status: result });
    return result as Result;
  }

  #unknown(phase: StepPhase, text: string): Result {
    if (phase === 'content') return this.end(text);
    this.assume(text);
    return DECLINED;
  }

  #respond(response: ExplainedResponse): void {
    this.response ??= response;
    if (this.#request !== undefined) this.#request.finished = true;
  }
}
