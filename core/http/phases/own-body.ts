import { inspect } from 'node:util';
import type { SubrequestOptions } from '../../contract/http.js';
import { bodyBytes } from '../request/body-bytes.js';
import { errorOf } from '../../contract/thrown.js';
import type { Request } from '../request/request.js';
import { RequestBody } from '../request/request-body.js';
import type { OwnStream } from './own-stream.js';

/** Gives a request of the server itself its body. */
export function setBody(request: Request, stream: OwnStream, { body, passBody }: SubrequestOptions): void {
  request.contentLength = -1;
  const stored = passBody === true ? request.parent?.body?.stored : undefined;
  if (stored !== undefined) {
    request.body = RequestBody.ofStored(stored);
    request.body.trailers = request.parent?.body?.trailers ?? '';
    request.contentLength = stored.store.length;
  } else if (body instanceof Uint8Array) {
    const bytes = bodyBytes(body) as Buffer;
    request.body = new RequestBody(bytes.length);
    request.contentLength = bytes.length;
    request.body.feed(bytes, 0, false);
  } else if (body !== undefined) {
    request.body = new RequestBody(-1, false);
    void new BodyPump(request, request.body, stream).run(body);
  }
}

/** Moves the pieces that a module gives into the body of a request: as fast as its readers take them. */
class BodyPump {
  #wake: (() => void) | undefined = undefined;

  constructor(
    private readonly request: Request,
    private readonly body: RequestBody,
    private readonly stream: OwnStream,
  ) {
    stream.onBodyWanted = () => this.#wake?.();
  }

  async run(source: AsyncIterable<Uint8Array>): Promise<void> {
    try {
      for await (const piece of source) {
        if (this.request.finished) return;
        const bytes = typeof piece === 'string' ? undefined : bodyBytes(piece);
        if (bytes === undefined) throw new TypeError(`a request body must consist of Buffers, not ${inspect(piece, { depth: 0 })}`);
        this.body.feed(bytes, 0, false);
        while (!this.request.finished && (this.body.isFull || this.stream.bodyIsPaused)) await this.#wanted();
      }
      this.body.endStream();
    } catch (error) {
      this.stream.cancel(errorOf(error));
    }
  }

  #wanted(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }
}
