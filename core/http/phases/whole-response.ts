import type { Subrequest } from '../../contract/http.js';
import { ByteQueue } from '../../net/byte-queue.js';
import type { Request } from '../request/request.js';
import type { ResponseTaker } from './own-stream.js';

/** The response of a subrequest that is wanted as a whole: its body stays in memory. */
export class WholeResponse implements ResponseTaker {
  readonly isBehind = false;
  readonly holdsHead = true;
  readonly #bytes = new ByteQueue();

  /** @param limit bytes of the body; 0: it is discarded */
  constructor(
    private readonly uri: string,
    private readonly limit: number,
    private readonly resolve: (result: Subrequest) => void,
    private readonly reject: (error: Error) => void,
  ) {}

  onHead(): void {}

  onBytes(piece: Buffer, borrowed: boolean): Error | undefined {
    if (this.limit === 0) return undefined;
    this.#bytes.push(piece, borrowed);
    if (this.#bytes.length <= this.limit) return undefined;
    return new Error(`the response of subrequest "${this.uri}" is longer than ${this.limit} bytes`);
  }

  onDropped(): void {
    this.#bytes.clear();
  }

  onEnd(request: Request, error: Error | undefined): void {
    if (error === undefined) this.resolve({ status: request.status, body: this.#bytes.takeWhole(), request });
    else this.reject(error);
    this.#bytes.clear();
  }
}
