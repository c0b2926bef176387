import type { ClientConnection } from '../../module/http.js';
import type { ClientStream, RequestListener } from '../request/client-stream.js';
import type { HttpContext } from '../request/context.js';
import { runLogHandlers } from '../request/log-handlers.js';
import type { Request } from '../request/request.js';
import type { Recorder } from './recorder.js';

/** The client of a request that nobody has made: the response goes nowhere. */
export class ExplainStream implements ClientStream {
  readonly protocol = undefined;
  readonly isBehind = false;
  readonly awaitsDrain = false;
  readonly takesLargePieces = false;
  readonly holdsHead = false;

  constructor(
    readonly context: HttpContext,
    readonly client: ClientConnection,
    readonly listener: RequestListener,
    private readonly notes: Recorder,
  ) {}

  writeHead(request: Request): void {
    // Nothing is paced or filtered that nobody reads.
    request.sendsBody = false;
    this.notes.responded(request);
  }

  finish(request: Request): void {
    request.finished = true;
  }

  abort(request: Request): void {
    request.finished = true;
    this.notes.closed();
  }

  /** The request is over, whatever became of it: modules release what it holds. */
  close(request: Request): void {
    request.finished = true;
    request.owner?.discard();
    request.owner = undefined;
    runLogHandlers(request);
  }

  openTunnel(): boolean {
    return false;
  }

  dropHead(): void {}
  write(): void {}
  flush(): void {}
  end(): void {}
  watchSending(): void {}
  wantBody(): void {}
  resumeBody(): void {}
  pauseBody(): void {}
  writeTunnel(): void {}
  pauseTunnel(): void {}
  resumeTunnel(): void {}
  endTunnelOutput(): void {}
  endTunnel(): void {}
}
