import { inspect } from 'node:util';
import { byteText, targetText } from '../../contract/message-text.js';
import type { ErrorBody } from '../../contract/http.js';
import type { ErrorPage } from '../site/location.js';
import type { Request } from '../request/request.js';
import { sendFailure, sendWhole } from '../response/response.js';
import { logFailure } from '../request/handler-failure.js';
import { MAX_REDIRECTS } from '../request/stage.js';
import { completeRedirect } from '../request/redirect-location.js';
import { specialPage } from '../request/status.js';

/** After these the client's next bytes may not be where a request starts, or it should not try again here (nginx's list). */
const CLOSING = new Set([400, 413, 414, 494, 497, 500, 501]);

/** nginx's codes for closing the connection without a response: `return 444`, and that of a client that is gone. */
const CLOSING_SILENTLY = new Set([444, 499]);

/** Responds with a status and no content of its own: the configured error page, or the engine's. */
export function respondWithStatus(request: Request, status: number): void {
  if (request.headSent || CLOSING_SILENTLY.has(status)) {
    // A part of the response was sent: only an early close notifies the client.
    if (!request.headSent) request.status = status;
    request.stream.abort(request);
    return;
  }
  if (CLOSING.has(status)) request.keepAlive = false;
  // A body that is too long would only be read in vain.
  if (status === 413) request.body?.discard();
  request.status = status;
  request.errorStatus = 0;
  if (status >= 300 && status < 400) completeRedirect(request);
  if (status >= 300 && mayShowErrorPage(request)) {
    const page = request.location.settings.errorPages.find((candidate) => candidate.codes.includes(status));
    if (page !== undefined) {
      showErrorPage(request, status, page);
      return;
    }
  }
  const { rejection } = request;
  if (rejection?.status === status) {
    sendWhole(request, rejection.body, rejection.contentType);
    return;
  }
  const own = status >= 400 ? ownErrorBody(request, status) : undefined;
  if (own !== undefined) {
    sendWhole(request, Buffer.from(own.body), own.type);
    return;
  }
  // A failed header of an earlier attempt must not leak into the page; Location and WWW-Authenticate were set for this very response.
  const page = status >= 300 || status === 0 ? Buffer.from(specialPage(status, request.location.settings.serverToken)) : Buffer.alloc(0);
  sendWhole(request, page, page.length > 0 ? 'text/html' : undefined);
}

/** Body of an error by the module of the location, or of the server. */
function ownErrorBody(request: Request, status: number): ErrorBody | undefined {
  const { error } = request.location;
  try {
    const own = error?.(request, status);
    assertErrorBody(own);
    return own;
  } catch (failure) {
    logFailure(request, failure, error);
    return undefined;
  }
}

/** The types of a module written in JavaScript are not checked. */
function assertErrorBody(own: Partial<ErrorBody> | null | undefined): void {
  if (own === undefined) return;
  // Its rejection is reported by this error.
  if (own instanceof Promise) own.catch(() => undefined);
  if ((typeof own?.body === 'string' || Buffer.isBuffer(own?.body)) && typeof own?.type === 'string') return;
  throw new TypeError(`the handler of errors returned ${inspect(own, { depth: 0 })}: it must return { body, type }`);
}

/** Error pages do not nest without recursive_error_pages, and not forever with it. */
function mayShowErrorPage({ inErrorPage, redirects, location }: Request): boolean {
  return inErrorPage ? location.settings.recursiveErrorPages && redirects <= MAX_REDIRECTS : true;
}

/** error_page: another URI or named location responds; a full URL becomes a redirect (default 302). */
function showErrorPage(request: Request, status: number, page: ErrorPage): void {
  request.inErrorPage = true;
  request.rejection = undefined;
  const target = targetOf(request, page);
  if (target === undefined) {
    sendFailure(request);
    return;
  }
  if (page.status !== 0) request.errorStatus = page.status ?? status;
  if (target.startsWith('/')) {
    if (request.method !== 'HEAD') request.method = 'GET';
    const question = target.indexOf('?');
    request.redirect(question < 0 ? target : target.slice(0, question), question < 0 ? '' : target.slice(question + 1));
  } else if (target.startsWith('@')) request.redirectNamed(target);
  else {
    const redirect = page.status !== undefined && page.status >= 301 && page.status <= 308 ? page.status : 302;
    request.errorStatus = 0;
    request.response.set('Location', targetText(target));
    respondWithStatus(request, redirect);
  }
}

/** Undefined: a variable of it failed. A status may be sent from any callback, where nothing would catch that. */
function targetOf(request: Request, page: ErrorPage): string | undefined {
  try {
    return byteText(page.target.of(request));
  } catch (error) {
    logFailure(request, error, page);
    return undefined;
  }
}
