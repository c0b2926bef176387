import { ByteQueue } from '../../net/byte-queue.js';
import type { BodyReader, RequestBody } from './request-body.js';
import type { TemporaryFile } from './temporary-file.js';

/**
 * Collects a whole body for {@link HttpRequest.readBody}. Then it is given back: whatever responds in the end (another phase, a location the
 * request is redirected to) may want it as well.
 */
export class BodyCollector implements BodyReader {
  readonly #bytes = new ByteQueue();

  constructor(
    private readonly body: RequestBody,
    private readonly limit: number,
    private readonly done: (body: Buffer) => void,
    private readonly failed: (status: number) => void,
  ) {}

  onBody(chunk: Buffer, borrowed: boolean): void {
    this.#bytes.push(chunk, borrowed);
    if (this.#bytes.length > this.limit) this.onBodyFailed(413);
  }

  onBodyEnd(): void {
    if (this.#bytes.length > this.limit) return;
    const whole = this.#bytes.takeWhole();
    this.body.returnBody(this, [whole]);
    this.done(whole);
  }

  onBodyFile(file: TemporaryFile): void {
    if (file.length <= this.limit) {
      this.#readFile(file, Buffer.allocUnsafe(file.length), 0);
      return;
    }
    this.body.returnBody(this, file);
    this.failed(413);
  }

  onBodyFailed(status: number): void {
    this.body.returnBody(this, undefined);
    this.failed(status);
  }

  #readFile(file: TemporaryFile, whole: Buffer, at: number): void {
    file.read(whole.subarray(at), at, (bytes) => {
      const end = at + bytes;
      if (bytes > 0 && end < whole.length) {
        this.#readFile(file, whole, end);
        return;
      }
      this.body.returnBody(this, file);
      if (bytes > 0) this.done(whole);
      else this.failed(500);
    });
  }
}
