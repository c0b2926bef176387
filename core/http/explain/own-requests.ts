import type { OpenSubrequest, Subrequest } from '../../contract/http.js';
import { Requests, type RequestOptions } from '../../contract/exchanges.js';
import { parseForServer } from '../client/head-server.js';
import { startRequest } from '../client/request-start.js';
import { setBody } from '../phases/own-body.js';
import { OwnStream, type ResponseTaker } from '../phases/own-stream.js';
import { run } from '../phases/phase-runner.js';
import { StreamedSubrequest } from '../phases/streamed-subrequest.js';
import { WholeResponse } from '../phases/whole-response.js';
import type { HttpContext } from '../request/context.js';
import { Request } from '../request/request.js';
import type { HttpListenGroups } from '../site/virtual-server.js';
import type { HttpVariables } from '../site/variables.js';
import { clientOf, findListener } from './listener-choice.js';
import { parseQuestion } from './question.js';

const DEFAULT_LIMIT = 1_048_576;
/** They follow from the body. */
const FRAMING = new Set(['connection', 'content-length', 'expect', 'transfer-encoding', 'upgrade']);

/** Targets of requests. */
interface InForce {
  readonly groups: () => HttpListenGroups;
  readonly variables: () => HttpVariables;
  readonly path: (relative: string) => string;
}

/** Sends requests of the server itself through the phases, as those of clients. */
export class OwnRequests extends Requests {
  /** @param servesTraffic this thread is a worker */
  constructor(
    private readonly context: HttpContext,
    private readonly inForce: InForce,
    private readonly servesTraffic: boolean,
  ) {
    super();
  }

  send(url: string, options: RequestOptions = {}): Promise<Subrequest> {
    return new Promise((resolve, reject) => {
      this.#start(url, options, new WholeResponse(url, options.limit ?? DEFAULT_LIMIT, resolve, reject));
    });
  }

  open(url: string, options: RequestOptions = {}): Promise<OpenSubrequest> {
    return new Promise((resolve, reject) => {
      const response = new StreamedSubrequest(resolve, reject);
      response.stream = this.#start(url, options, response);
    });
  }

  /** @throws Error: it cannot be sent */
  #start(url: string, options: RequestOptions, taker: ResponseTaker): OwnStream {
    if (!this.servesTraffic) throw new Error('requests can be made in workers only');
    const { context, inForce } = this;
    if (context.ownRequests.isClosed) throw new Error('the worker is shutting down');
    const { method = 'GET', headers = {} } = options;
    const fields = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || FRAMING.has(name.toLowerCase()) ? [] : [[name, value] as const],
    );
    const parsed = parseQuestion({ url, method, headers: fields });
    const found = findListener(inForce.groups(), parsed, undefined, inForce.path);
    const client = clientOf(parsed, found);
    const { names, options: listen } = found.group;
    context.clock.refresh();
    context.headOwner = undefined;
    const chosen = parseForServer(context.head, parsed.head, names, client);
    if (context.head.code !== 0) throw new Error(context.head.reason);
    const stream = new OwnStream(
      { context, client, listener: { secure: listen.secure, variables: inForce.variables(), names } },
      'HTTP/1.1',
      taker,
    );
    const request = new Request(stream, chosen.server, context.head);
    context.headOwner = request;
    const rejected = startRequest(request, chosen);
    setBody(request, stream, options);
    stream.begin(request, options.timeout ?? 0);
    if (rejected === 0) run(request);
    else context.flow.reject(request, rejected);
    return stream;
  }
}
