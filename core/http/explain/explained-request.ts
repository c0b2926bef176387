import { type BodySource, DECLINED, DONE, type OpenSubrequest, type Result, type Subrequest } from '../../contract/http.js';
import type { RequestHead } from '../../net/http1/request-head.js';
import type { ClientStream } from '../request/client-stream.js';
import { Request } from '../request/request.js';
import { endResponse, sendFailure, startResponse } from '../response/response.js';
import type { RequestServer } from '../site/virtual-server.js';
import type { Recorder } from './recorder.js';

/** A request without a client. It is handled as any other; steps that would wait, ask or send are noted instead. */
export class ExplainedRequest extends Request {
  readonly #notes: Recorder;

  constructor(stream: ClientStream, server: RequestServer, head: RequestHead, notes: Recorder) {
    super(stream, server, head);
    this.#notes = notes;
  }

  override get explanation(): Recorder {
    return this.#notes;
  }

  override setClientAddress(address: string, port: number): void {
    super.setClientAddress(address, port);
    this.#notes.say(`the address of the client is ${address} from here on`, { client: address });
  }

  override redirect(uri: string, args = ''): Result {
    this.#redirected(`${uri}${args === '' ? '' : `?${args}`}`);
    return super.redirect(uri, args);
  }

  override redirectNamed(name: string): Result {
    this.#redirected(name);
    return super.redirectNamed(name);
  }

  override delay(ms: number): Result {
    this.#notes.say(`waits for ${ms} ms`, { delay: ms });
    return DECLINED;
  }

  /** Not made: it never ends, and the recorder says of its handler that it waits. */
  override subrequest(): Promise<Subrequest> {
    return new Promise(() => undefined);
  }

  override openSubrequest(): Promise<OpenSubrequest> {
    return new Promise(() => undefined);
  }

  /** There is none. */
  override readBody(): Promise<Buffer> {
    return new Promise(() => undefined);
  }

  override sendFrom(status: number, source: BodySource, contentType?: string): Result {
    this.status = status;
    if (contentType !== undefined && contentType !== '') this.response.set('Content-Type', contentType);
    this.response.length = source.length;
    source.close();
    if (startResponse(this, true)) endResponse(this);
    else sendFailure(this);
    return DONE;
  }

  /** Only the engine sends a request elsewhere when no handler is at work: to its error page. */
  #redirected(target: string): void {
    const notes = this.#notes;
    if (notes.isInHandler) notes.step('redirect', `internal redirect to "${target}"`, { target });
    else notes.step('error_page', `the error page of ${this.status} is "${target}"`, { status: this.status, target });
  }
}
