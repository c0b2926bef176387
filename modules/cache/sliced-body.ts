import type { BodySource, HttpRequest, OpenSubrequest } from '../../core/contract/http.js';
import { setNextSlice } from './slices.js';

/** A slice is requested as a whole and as it is, whatever the client wants of it. */
const WITHOUT = {
  Range: undefined,
  'Accept-Encoding': undefined,
  'If-Range': undefined,
  'If-Match': undefined,
  'If-None-Match': undefined,
  'If-Modified-Since': undefined,
  'If-Unmodified-Since': undefined,
};

/** Begins the subrequest for the slice that a byte is in. @param size bytes of a slice */
export function openSlice(request: HttpRequest, at: number, size: number): Promise<OpenSubrequest> {
  const first = at - (at % size);
  setNextSlice(request, { first, last: first + size - 1 });
  return request.openSubrequest(request.uri, { args: request.args, headers: WITHOUT, sameTarget: true });
}

/** The range of a response with status 206; undefined: it is malformed, or the whole length is unknown. */
export function contentRangeOf({ response }: HttpRequest): { first: number; last: number; total: number } | undefined {
  const [, first, last, total] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(response.get('Content-Range') ?? '') ?? [];
  return total === undefined ? undefined : { first: Number(first), last: Number(last), total: Number(total) };
}

/** The body of a response whose slices are requested one after the other, as the client reads it. */
export class SlicedBody implements BodySource {
  #body: AsyncIterator<Buffer, undefined> | undefined;
  /** Offset in the whole of what comes next. */
  #at: number;
  #piece: Buffer = Buffer.alloc(0);
  readonly #etag: string;

  /** @param first the slice that has been requested, which begins at `at` */
  constructor(
    private readonly request: HttpRequest,
    private readonly size: number,
    readonly length: number,
    first: OpenSubrequest,
    at: number,
  ) {
    this.#body = first.body;
    this.#at = at;
    this.#etag = first.request.response.get('ETag') ?? '';
  }

  read(into: Buffer, offset: number): number | Promise<number> {
    return this.#at === offset && this.#piece.length > 0 ? this.#take(into) : this.#fill(into, offset);
  }

  async #fill(into: Buffer, offset: number): Promise<number> {
    if (offset < this.#at || offset >= this.#at - (this.#at % this.size) + this.size) await this.#seek(offset);
    while (this.#at < offset || this.#piece.length === 0) {
      const skipped = Math.min(offset - this.#at, this.#piece.length);
      this.#at += skipped;
      this.#piece = this.#piece.subarray(skipped);
      if (this.#piece.length > 0) continue;
      const next = await this.#body?.next();
      if (next === undefined || next.done === true) {
        if (this.#at >= this.length || this.#at % this.size !== 0) return 0;
        await this.#seek(this.#at);
      } else this.#piece = next.value;
    }
    return this.#take(into);
  }

  #take(into: Buffer): number {
    const count = this.#piece.copy(into);
    this.#piece = this.#piece.subarray(count);
    this.#at += count;
    return count;
  }

  /** @throws (rejects) Error: the slice is none of the same response */
  async #seek(offset: number): Promise<void> {
    await this.#body?.return?.();
    this.#piece = Buffer.alloc(0);
    this.#at = offset - (offset % this.size);
    const { request, status, body } = await openSlice(this.request, offset, this.size);
    this.#body = body;
    const range = contentRangeOf(request);
    if (status !== 206 || range?.first !== this.#at || range.total !== this.length)
      throw new Error(`unexpected response to a slice: status ${status}, range "${request.response.get('Content-Range') ?? ''}"`);
    const etag = request.response.get('ETag') ?? '';
    if (etag !== this.#etag)
      throw new Error(`the ETag of a slice is ${etag || 'missing'}, that of the first one ${this.#etag || 'missing'}`);
  }

  close(): void {
    this.#body?.return?.().catch(() => undefined);
    this.#body = undefined;
  }
}
