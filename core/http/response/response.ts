/** The way of every response, whatever its source: header filters, body filters, ranges, the client's stream. */
import { inspect } from 'node:util';
import type { Lender } from '../request/lender.js';
import { logFailure } from '../request/handler-failure.js';
import { tellObservers } from '../request/observers.js';
import type { Request } from '../request/request.js';
import { sizeFor } from '../request/template-size.js';
import { isBodiless, publicStatus, specialPage } from '../request/status.js';
import { isStatus } from '../../run/handler-result.js';
import { writeToClient } from './client-output.js';
import { FilterChain } from './filter-chain.js';
import { BufferedStream } from './buffered-stream.js';
import type { StorePlan } from '../site/temporary-path.js';
import { PacedStream } from './paced-stream.js';
import { applyRanges, asksForRanges, rejectRanges } from './ranges.js';

/**
 * Runs the header filters and fixes the head. The source has set status and fields, and {@link HeaderList.length} if it knows it.
 * @param isSeekable whether the source gives ranges of its body in any order
 * @returns false if a filter failed, or nothing of the body is asked for: then {@link sendFailure} is all that can be done.
 */
export function startResponse(request: Request, isSeekable = false): boolean {
  if (request.errorStatus !== 0) {
    request.status = request.errorStatus;
    request.statusLine = '';
  }
  const before = request.status;
  const { response } = request;
  const { allowsRanges } = response;
  let asked = allowsRanges && asksForRanges(request);
  const fields = asked ? response.snapshot() : undefined;
  if (!request.unfiltered && !runHeaderFilters(request)) return false;
  const status = publicStatus(request.status);
  if (status !== before) request.statusLine = '';
  request.status = status;
  // A header filter may have allowed them.
  if (!allowsRanges) asked = asksForRanges(request);
  if (response.allowsRanges && !applyRanges(request, asked, isSeekable)) {
    dropFilters(request);
    rejectRanges(request, fields ?? response.snapshot(), response.length);
    return false;
  }
  request.headSent = true;
  request.headTime = request.context.clock.now;
  if (request.observers !== undefined) tellObservers(request, request.observers, 'head');
  request.sendsBody = !isBodiless(status) && request.method !== 'HEAD' && !request.opensTunnel;
  if (!request.sendsBody) dropFilters(request);
  request.stream.writeHead(request);
  if (request.sendsBody) setPace(request);
  return true;
}

/** @param lender undefined: the bytes are given away; else they are valid during the call, see {@link Lender}. */
export function writeResponse(request: Request, chunk: Buffer, from: number, to: number, lender: Lender | undefined): void {
  if (!request.sendsBody || from === to) return;
  if (request.filters === undefined) writeToClient(request, chunk, from, to, lender);
  else request.filters.write(chunk, from, to, lender);
}

/** The source has given everything, and has released what it held. The request is finished when the filters are. */
export function endResponse(request: Request): void {
  if (request.filters !== undefined) {
    request.filters.end();
    return;
  }
  request.stream.end(request);
  request.stream.finish(request);
}

/** The source has to stop until {@link RequestOwner.onDrain}. */
export function isResponseBehind(request: Request): boolean {
  return request.stream.isBehind || request.filters?.isBehind === true;
}

/** The client has consumed what was written: filters and source go on. */
export function onResponseDrained(request: Request): void {
  request.front?.pump();
  if (request.finished) return;
  request.filters?.onDrained();
  if (!isResponseBehind(request)) request.owner?.onDrain();
}

/** The client is slow: from now on unread data is stored, and its source and filters do not wait for it. */
export function bufferResponse(request: Request, plan: StorePlan, readSize: number): void {
  const buffered = new BufferedStream(request.stream, request, plan, readSize, onResponseDrained);
  request.stream = buffered;
  request.front = buffered;
}

/** Sends a complete response and finishes the request. */
export function sendWhole(request: Request, body: Buffer, contentType: string | undefined): void {
  request.response.length = body.length;
  if (contentType !== undefined && contentType !== '' && request.status !== 204) request.response.set('Content-Type', contentType);
  if (!startResponse(request, true)) {
    sendFailure(request);
    return;
  }
  writeResponse(request, body, 0, body.length, undefined);
  if (!request.finished) endResponse(request);
}

/** Responds with 500 without any filter, as one of them has failed; or with 416, see {@link startResponse}. */
export function sendFailure(request: Request): void {
  if (request.isUnsatisfiable) {
    request.isUnsatisfiable = false;
    request.context.flow.reject(request, 416);
    return;
  }
  dropFilters(request);
  request.unfiltered = true;
  request.chunked = false;
  request.keepAlive = false;
  request.status = 500;
  request.errorStatus = 0;
  request.statusLine = '';
  request.response.clear();
  sendWhole(request, Buffer.from(specialPage(500, request.location.settings.serverToken)), 'text/html');
}

/** limit_rate, `set $limit_rate`, X-Accel-Limit-Rate. A subrequest has no client of its own. */
function setPace(request: Request): void {
  const { limitRate, limitRateAfter } = request.location.settings;
  const rate = request.limitRate ?? (limitRate === undefined ? 0 : sizeFor(request, limitRate));
  if (rate === 0 || request.parent !== undefined) return;
  const after = limitRateAfter === undefined ? 0 : sizeFor(request, limitRateAfter);
  const paced = new PacedStream(request.stream, request, { rate, after }, onResponseDrained);
  request.stream = paced;
  request.front = paced;
}

function runHeaderFilters(request: Request): boolean {
  const { headerFilters } = request.location;
  let chain: FilterChain | undefined;
  let at = 0;
  try {
    for (; at < headerFilters.length; at++) {
      const { status } = request;
      request.filter = headerFilters[at];
      const filter = headerFilters[at]?.(request);
      if (request.status !== status) assertFinalStatus(request.status);
      if (filter === undefined) continue;
      chain ??= new FilterChain(request, sendFailure);
      chain.add(filter, headerFilters[at]);
      // Only a filter knows what it makes of the body.
      request.response.length = filter.length ?? -1;
    }
    request.filters = chain;
    return true;
  } catch (error) {
    chain?.destroy();
    logFailure(request, error, headerFilters[at]);
    return false;
  } finally {
    request.filter = undefined;
  }
}

/** @throws TypeError for what a header filter may not make of the status: an interim one, or none. */
function assertFinalStatus(status: unknown): void {
  if (isStatus(status)) return;
  throw new TypeError(`the status of a response must be a number from 200 to 999, not ${inspect(status, { depth: 0 })}`);
}

function dropFilters(request: Request): void {
  request.filters?.destroy();
  request.filters = undefined;
}
