import type { BodyPart, RangeSelection } from '../request/client-stream.js';
import type { Lender } from '../request/lender.js';
import type { Request } from '../request/request.js';

/** Cuts the ranges out of a body that passes, and puts the lines between them that a multipart body has. */
export class RangeCutter implements RangeSelection {
  /** Bytes of the body that have passed. */
  #passed = 0;
  /** The part that comes next. */
  #next = 0;

  constructor(
    readonly parts: readonly BodyPart[],
    readonly bodyLength: number,
  ) {}

  write(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
    const { stream } = request;
    const start = this.#passed;
    const end = start + to - from;
    this.#passed = end;
    // A body in one piece gives its ranges in any order.
    const isWhole = start === 0 && end === this.bodyLength;
    for (let part = this.parts[this.#next]; part !== undefined; part = this.parts[++this.#next]) {
      if (Buffer.isBuffer(part)) {
        stream.write(request, part, 0, part.length, undefined);
        continue;
      }
      if (part.start >= end && !isWhole) return;
      const first = Math.max(part.start, start);
      const last = Math.min(part.end, end);
      if (first < last) stream.write(request, chunk, from + first - start, from + last - start, lender);
      if (part.end > end) return;
    }
  }
}
