import type { ClientConnection } from '../../contract/client-connection.js';
import type { ClientStream, RequestListener } from './client-stream.js';
import type { HttpContext } from './context.js';
import type { Request } from './request.js';

/** The client of a request without one: its output is dropped. */
export class NoStream implements ClientStream {
  readonly protocol = undefined;
  readonly isBehind = false;
  readonly awaitsDrain = false;
  readonly room = Infinity;
  readonly takesLargePieces = false;
  readonly holdsHead = false;

  readonly bytePath = undefined;

  constructor(
    readonly context: HttpContext,
    readonly client: ClientConnection,
    readonly listener: RequestListener,
  ) {}

  finish(request: Request): void {
    request.finished = true;
  }

  abort(request: Request): void {
    request.finished = true;
  }

  openTunnel(): boolean {
    return false;
  }

  writeInterim(): void {}
  writeHead(_: Request): void {}
  dropHead(): void {}
  write(): void {}
  flush(): void {}
  end(): void {}
  watchSending(): void {}
  wantBody(): void {}
  resumeBody(): void {}
  pauseBody(): void {}
  endTunnelOutput(): void {}
  endTunnel(): void {}
}
