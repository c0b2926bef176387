import type { HttpRequest } from '../../core/contract/http.js';

/** Under this key a request keeps the slice that it is for. */
const SLICE = {};

/** A range of a response, which is requested and stored by itself. Bytes, the last one included. */
export interface RequestedSlice {
  readonly first: number;
  readonly last: number;
}

export function setSlice(request: HttpRequest, slice: RequestedSlice): void {
  request.set(SLICE, slice);
}

export function sliceOf(request: HttpRequest): RequestedSlice | undefined {
  return request.get(SLICE) as RequestedSlice | undefined;
}

/** True if the member is asked for a range, whatever the client has asked for. */
export function isSlice(request: HttpRequest): boolean {
  return sliceOf(request) !== undefined;
}
