import type { ClientConnection } from '../../contract/client-connection.js';
import type { RequestListener } from '../request/client-stream.js';
import type { HttpContext } from '../request/context.js';
import { runLogHandlers } from '../request/log-handlers.js';
import { NoStream } from '../request/no-stream.js';
import type { Request } from '../request/request.js';
import type { Recorder } from './recorder.js';

/** The client of a request that is explained. */
export class ExplainStream extends NoStream {
  constructor(
    context: HttpContext,
    client: ClientConnection,
    listener: RequestListener,
    private readonly notes: Recorder,
  ) {
    super(context, client, listener);
  }

  override writeHead(request: Request): void {
    // A response without a reader is neither paced nor filtered.
    request.sendsBody = false;
    this.notes.responded(request);
  }

  override abort(request: Request): void {
    super.abort(request);
    this.notes.closed();
  }

  /** The request is over, whatever became of it: modules release what it holds. */
  close(request: Request): void {
    request.finished = true;
    request.owner?.discard();
    request.owner = undefined;
    runLogHandlers(request);
  }
}
