import { Explainer, type Explanation, type ExplainQuestion } from '../../contract/explain.js';
import { parseForServer } from '../client/head-server.js';
import { startRequest } from '../client/request-start.js';
import type { HttpListenGroup, HttpListenGroups } from '../site/virtual-server.js';
import { run } from '../phases/phase-runner.js';
import type { RequestListener } from '../request/client-stream.js';
import type { HttpContext } from '../request/context.js';
import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';
import { publicStatus, statusText } from '../request/status.js';
import type { Location } from '../site/location.js';
import type { HttpVariables } from '../site/variables.js';
import type { RequestServer, VirtualServer } from '../site/virtual-server.js';
import { ExplainStream } from './explain-stream.js';
import { ExplainedRequest } from './explained-request.js';
import { clientOf, findListener, type FoundListener } from './listener-choice.js';
import { explainLocation, explainNamed } from './location-choice.js';
import { parseQuestion, type ParsedQuestion } from './question.js';
import { readable } from './readable.js';
import { Recorder } from './recorder.js';
import { explainServer } from './server-choice.js';
import { stackOf } from '../../contract/thrown.js';
import { Twins } from './twins.js';

/** Locations that are listed as rejected. */
const CANDIDATES = 20;

/** Sources of the current configuration. */
interface InForce {
  readonly groups: () => HttpListenGroups;
  readonly variables: () => HttpVariables;
  /** Absolute path of a unix socket that `listen` names. */
  readonly path: (relative: string) => string;
}

/** Sends explained requests through the phases of the traffic, over twins of the locations. */
export class HttpExplainer extends Explainer {
  readonly #twins = new Twins();

  constructor(
    private readonly context: HttpContext,
    private readonly inForce: InForce,
  ) {
    super();
  }

  explain(question: ExplainQuestion): Explanation {
    const parsed = parseQuestion(question);
    const found = findListener(this.inForce.groups(), parsed, question.listen, (relative) => this.inForce.path(relative));
    const notes = new Recorder((module, thrown) =>
      this.context.log.write('error', `explanation by module "${module}" failed: ${stackOf(thrown)}`),
    );
    const request = this.#run(parsed, found, notes, question.candidates ?? CANDIDATES);
    return explanationOf(parsed, found, notes, request);
  }

  /** Undefined: it is malformed, and never became a request. */
  #run(parsed: ParsedQuestion, found: FoundListener, notes: Recorder, candidates: number): ExplainedRequest | undefined {
    const { context } = this;
    context.clock.refresh();
    const listener = this.#listener(found.group, notes, candidates);
    const client = clientOf(parsed, found);
    const chosen = parseForServer(context.head, parsed.head, listener.names, client);
    const { code } = context.head;
    if (code !== 0) {
      notes.end(`${statusText(publicStatus(code))}: ${context.head.reason}`, publicStatus(code));
      return undefined;
    }
    const stream = new ExplainStream(context, client, listener, notes);
    const request = new ExplainedRequest(stream, chosen.server, context.head, notes);
    context.headOwner = request;
    notes.begin(request);
    try {
      const rejected = startRequest(request, chosen);
      if (rejected === 0) run(request);
      else context.flow.reject(request, rejected);
      sayPace(request, notes);
    } finally {
      stream.close(request);
    }
    return request;
  }

  #listener(group: HttpListenGroup, notes: Recorder, candidates: number): RequestListener {
    return {
      secure: group.options.secure,
      variables: this.inForce.variables(),
      names: {
        defaultServer: this.#server(group.names.defaultServer, notes, candidates),
        find: (host) => {
          const found = group.names.find(host);
          notes.server = explainServer(host, found, group);
          return { server: this.#server(found.server, notes, candidates), captures: found.captures };
        },
      },
    };
  }

  /** A server whose choices of a location are noted. */
  #server(server: VirtualServer, notes: Recorder, candidates: number): RequestServer {
    return {
      ...server,
      ...this.#twins.stepsOf(server),
      locations: {
        find: (uri) => {
          const found = server.locations.find(uri);
          notes.locations.push(explainLocation(server, uri, found, candidates));
          sayChoice(notes, found.location);
          return { ...found, location: found.location && this.#twins.locationOf(found.location) };
        },
        named: (name) => {
          const location = server.locations.named(name);
          notes.locations.push(explainNamed(location, name, notes.request?.uri ?? ''));
          sayChoice(notes, location);
          return location && this.#twins.locationOf(location);
        },
      },
    };
  }
}

function sayChoice(notes: Recorder, found: Location | undefined): void {
  const chosen = notes.locations.at(-1);
  if (chosen === undefined) return;
  const { location, why } = chosen;
  const facts = { choice: notes.locations.length - 1, ...(location !== undefined && { location }) };
  notes.step('location', `${location ?? 'none'}: ${why}`, facts);
  const { request } = notes;
  if (found === undefined || request === undefined) return;
  if (found.settings.internal && !request.internal)
    notes.step('location', 'it is internal: only redirects inside of the server get there', { status: 404 });
  if (found.settings.satisfyAny)
    notes.step('location', 'satisfy any: one of the modules that control access is enough', { satisfy: 'any' });
  if (found.limitExcept !== undefined && !found.limitExcept.methods.has(request.method))
    notes.step('location', `the settings of limit_except apply: ${request.method} is not among its methods`);
}

/** Steps that delay any response. */
function sayPace(request: Request, notes: Recorder): void {
  try {
    sayRate(request, notes);
  } catch (error) {
    // A variable has failed: so it does in traffic, which goes on without a limit.
    logFailure(request, error, request.location.settings.limitRate);
  }
}

function sayRate(request: Request, notes: Recorder): void {
  const { limitRate, limitRateAfter } = request.location.settings;
  const rate = request.limitRate === undefined ? limitRate?.of(request) : String(request.limitRate);
  if (rate === undefined || rate === '' || rate === '0') return;
  const after = limitRateAfter?.of(request) ?? '0';
  notes.step('response', `limit_rate ${rate} bytes a second${after === '0' ? '' : `, after ${after}`}`, {
    limit_rate: rate,
    limit_rate_after: after,
  });
}

function explanationOf(parsed: ParsedQuestion, { group, why }: FoundListener, notes: Recorder, request: Request | undefined): Explanation {
  const { server, locations, steps, assumptions, log, upstream } = notes;
  const { address, secure } = group.options;
  return {
    request: {
      method: parsed.method,
      url: parsed.url,
      host: readable(request?.host ?? parsed.hostName),
      uri: readable(request?.uri ?? ''),
      client: request?.connection.remoteAddress ?? parsed.client,
    },
    listener: { address, secure, why },
    ...(server && { server }),
    locations,
    steps,
    response: notes.response ?? { by: 'module', text: 'nothing responds: a handler says that it has responded, and has not' },
    ...(upstream && { upstream }),
    assumptions,
    log,
  };
}
