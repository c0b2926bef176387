/** Slices of responses: ranges that are requested and stored by themselves. */
import type { HttpRequest } from '../../core/contract/http.js';

/** Under these keys a request keeps the slice that it asks for next, the one that it is for itself, and the subrequest of its first one. */
const [NEXT, OWN, LEAD] = [{}, {}, {}];
/** Of a slice, its fields before those of the location are added: the whole response gets these once. */
const FIELDS = {};

/** Bytes of a response, the last one included. */
export interface RequestedSlice {
  readonly first: number;
  readonly last: number;
}

/** The next subrequest of a request is for this slice. */
export function setNextSlice(request: HttpRequest, slice: RequestedSlice): void {
  request.set(NEXT, slice);
}

/** The slice that a subrequest is for; also a subrequest that renews it. */
export function sliceOf(request: HttpRequest): RequestedSlice | undefined {
  const { parent } = request;
  if (parent === undefined) return undefined;
  const known = request.get(OWN) as RequestedSlice | undefined;
  if (known !== undefined) return known;
  const found = (parent.get(OWN) ?? parent.get(NEXT)) as RequestedSlice | undefined;
  if (found !== undefined) request.set(OWN, found);
  return found;
}

/** `bytes=0-1048575`; empty: the request is not for a slice. */
export function sliceRange(request: HttpRequest): string {
  const slice = sliceOf(request);
  return slice === undefined ? '' : `bytes=${slice.first}-${slice.last}`;
}

export function setLead(request: HttpRequest, subrequest: HttpRequest): void {
  request.set(LEAD, subrequest);
}

/** The subrequest for the first slice of a request, whose variables are those of the whole; else the request itself. */
export function leadOf(request: HttpRequest): HttpRequest {
  return (request.get(LEAD) as HttpRequest | undefined) ?? request;
}

type Fields = readonly (readonly [name: string, value: string])[];

export function keepFields(request: HttpRequest): void {
  request.set(FIELDS, [...request.response.entries()]);
}

export function fieldsOf(request: HttpRequest): Fields {
  return (request.get(FIELDS) as Fields | undefined) ?? [];
}
