import type { Lender } from '../request/lender.js';
import type { Request } from '../request/request.js';

/** The last stage of the response path: sends the bytes of a body, or those of them that are in the ranges of the response. */
export function writeToClient(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
  if (request.ranges === undefined) request.stream.write(request, chunk, from, to, lender);
  else request.ranges.write(request, chunk, from, to, lender);
}
