import type { OpenSubrequest, Subrequest, SubrequestOptions } from '../../contract/http.js';
import { Request } from '../request/request.js';
import { setBody } from './own-body.js';
import { ownHead } from './own-head.js';
import { OwnStream, type ResponseTaker } from './own-stream.js';
import { enterLocation } from './phase-runner.js';
import { StreamedSubrequest } from './streamed-subrequest.js';
import { WholeResponse } from './whole-response.js';

/** Subrequests within subrequests (nginx: NGX_HTTP_MAX_SUBREQUESTS). */
const MAX_DEPTH = 50;
const DEFAULT_LIMIT = 1_048_576;

/** See {@link HttpRequest.subrequest}. */
export function startSubrequest(parent: Request, uri: string, options: SubrequestOptions): Promise<Subrequest> {
  return whenReady(parent, options, (resolve, reject) => {
    start(parent, uri, options, new WholeResponse(uri, options.limit ?? DEFAULT_LIMIT, resolve, reject));
  });
}

/** See {@link HttpRequest.openSubrequest}. */
export function openSubrequest(parent: Request, uri: string, options: SubrequestOptions): Promise<OpenSubrequest> {
  return whenReady(parent, options, (resolve, reject) => {
    const response = new StreamedSubrequest(resolve, reject);
    response.stream = start(parent, uri, options, response);
  });
}

type Executor<T> = (resolve: (result: T) => void, reject: (error: Error) => void) => void;

/** The body that it passes on has to be whole. */
function whenReady<T>(parent: Request, { passBody }: SubrequestOptions, run: Executor<T>): Promise<T> {
  const storing = passBody === true ? parent.storeBody() : undefined;
  return storing === undefined ? new Promise(run) : storing.then(() => new Promise(run));
}

function start(parent: Request, uri: string, options: SubrequestOptions, taker: ResponseTaker): OwnStream {
  if (parent.isGone) throw new Error('the request is over');
  if (depthOf(parent) >= MAX_DEPTH) throw new Error(`subrequests cycle while processing "${uri}"`);
  const head = ownHead(parent, options);
  const stream = new OwnStream(parent.stream, parent.protocol, taker);
  const request = new Request(stream, parent.server, head);
  if (options.headers !== undefined) request.context.headOwner = request;
  request.parent = parent;
  request.method = options.method ?? 'GET';
  request.requestUri = parent.requestUri;
  request.expectContinue = false;
  request.upgrade = false;
  request.host = parent.host;
  const { detached = false, timeout = 0 } = options;
  // Variables are one set for both, as in nginx, as long as both exist.
  parent.assigned ??= new Map();
  request.assigned = detached ? new Map(parent.assigned) : parent.assigned;
  request.captures = parent.captures;
  request.uri = uri;
  request.args = options.args ?? '';
  request.uriChanged = options.sameTarget !== true || parent.uriChanged;
  setBody(request, stream, options);
  stream.begin(request, timeout);
  // Without the parent's client it is not needed.
  if (!detached) parent.atEnd(() => void (parent.completed || stream.cancel()));
  enterLocation(request);
  return stream;
}

function depthOf(request: Request): number {
  let depth = 0;
  for (let above = request.parent; above !== undefined; above = above.parent) depth++;
  return depth;
}
