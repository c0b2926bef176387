import type { ClientConnection, Subrequest, SubrequestOptions } from '../../module/http.js';
import type { ClientStream, Lender, RequestListener } from '../request/client-stream.js';
import type { HttpContext } from '../request/context.js';
import { Request } from '../request/request.js';
import { runLogHandlers } from '../request/log-handlers.js';
import { enterLocation } from './phase-runner.js';

/** Subrequests within subrequests (nginx: NGX_HTTP_MAX_SUBREQUESTS). */
const MAX_DEPTH = 50;
const DEFAULT_LIMIT = 1_048_576;

/** See {@link HttpRequest.subrequest}. */
export function startSubrequest(parent: Request, uri: string, options: SubrequestOptions): Promise<Subrequest> {
  if (parent.isGone) return Promise.reject(new Error('the request is over'));
  if (depthOf(parent) >= MAX_DEPTH) return Promise.reject(new Error(`subrequests cycle while processing "${uri}"`));
  return new Promise((resolve, reject) => {
    const stream = new SubrequestStream(parent, options.limit ?? DEFAULT_LIMIT, resolve, reject);
    const request = new Request(stream, parent.server, parent.head);
    request.parent = parent;
    request.method = 'GET';
    request.contentLength = -1;
    request.expectContinue = false;
    request.upgrade = false;
    request.host = parent.host;
    // Variables are one set for both, as in nginx.
    parent.assigned ??= new Map();
    request.assigned = parent.assigned;
    request.captures = parent.captures;
    request.uri = uri;
    request.args = options.args ?? '';
    request.uriChanged = true;
    stream.begin(request);
  });
}

function depthOf(request: Request): number {
  let depth = 0;
  for (let above = request.parent; above !== undefined; above = above.parent) depth++;
  return depth;
}

/** The client stream of a subrequest: its response stays in memory. */
class SubrequestStream implements ClientStream {
  readonly context: HttpContext;
  readonly client: ClientConnection;
  readonly listener: RequestListener;
  readonly protocol: string;
  readonly isBehind = false;
  readonly awaitsDrain = false;
  readonly takesLargePieces = false;
  #request: Request | undefined = undefined;
  #pieces: Buffer[] = [];
  #bytes = 0;

  constructor(
    private readonly parent: Request,
    private readonly limit: number,
    private readonly resolve: (result: Subrequest) => void,
    private readonly reject: (error: Error) => void,
  ) {
    const { context, client, listener } = parent.stream;
    this.context = context;
    this.client = client;
    this.listener = listener;
    this.protocol = parent.protocol;
  }

  begin(request: Request): void {
    this.#request = request;
    // Without the parent's client nobody needs it.
    this.parent.atEnd(() => void (this.parent.completed || this.#cancel()));
    enterLocation(request);
  }

  #cancel(): void {
    const request = this.#request;
    if (request === undefined || request.finished) return;
    request.owner?.abort();
    if (!request.finished) this.abort(request);
  }

  writeHead(): void {}

  get holdsHead(): boolean {
    return this.#request?.headSent === true && !this.#request.finished;
  }

  dropHead(request: Request): void {
    this.#forget();
    request.headSent = false;
  }

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    if (request.finished || this.limit === 0) return;
    this.#bytes += to - from;
    if (this.#bytes > this.limit) {
      request.owner?.discard();
      this.#end(request, new Error(`the response of subrequest "${request.uri}" is longer than ${this.limit} bytes`));
      return;
    }
    const piece = chunk.subarray(from, to);
    this.#pieces.push(lender === undefined ? piece : Buffer.from(piece));
  }

  flush(): void {}
  end(): void {}
  watchSending(): void {}
  wantBody(): void {}
  resumeBody(): void {}
  pauseBody(): void {}

  finish(request: Request): void {
    if (request.finished) return;
    request.completed = true;
    this.#end(request, undefined);
  }

  abort(request: Request): void {
    if (!request.finished) this.#end(request, new Error(`the response of subrequest "${request.uri}" was cut off`));
  }

  openTunnel(): boolean {
    return false;
  }
  writeTunnel(): void {}
  pauseTunnel(): void {}
  resumeTunnel(): void {}
  endTunnelOutput(): void {}
  endTunnel(): void {}

  #end(request: Request, error: Error | undefined): void {
    request.finished = true;
    request.owner = undefined;
    request.filters?.destroy();
    runLogHandlers(request);
    if (error === undefined) this.resolve({ status: request.status, body: Buffer.concat(this.#pieces, this.#bytes), request });
    else this.reject(error);
    this.#forget();
  }

  #forget(): void {
    this.#pieces = [];
    this.#bytes = 0;
  }
}
