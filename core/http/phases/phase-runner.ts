import { DECLINED, DONE, OK, PHASES, type Handler, type Result } from '../../contract/http.js';
import { escapeUri } from '../../net/http1/uri.js';
import { respondWithStatus } from './error-response.js';
import { RequestWait } from './request-wait.js';
import { isStatus, notAResult } from '../../run/handler-result.js';
import { whenSettled } from '../../run/parked-handler.js';
import { logFailure, presentHandler } from '../request/handler-failure.js';
import { connectLocation } from '../site/connect-location.js';
import type { Location, Steps } from '../site/location.js';
import { BodyTooLarge } from '../request/body-too-large.js';
import { tellObservers } from '../request/observers.js';
import type { Request } from '../request/request.js';
import { MAX_REDIRECTS, Stage } from '../request/stage.js';
import { errorOf } from '../../contract/thrown.js';

const ACCESS = PHASES.indexOf('access');
const POST_READ = PHASES.indexOf('post_read');
const RESULTS = 'DECLINED, DONE, OK';

/** Runs a request from its current step until something takes it over or responds. Never throws. */
export function run(request: Request): void {
  try {
    settle(request, walk(request));
  } catch (error) {
    failed(request, error);
  }
}

/** Runs the rest of a content handler that had to wait. Never throws. */
export function settleContent(request: Request, content: Handler): void {
  try {
    settle(request, runContent(request, content));
  } catch (error) {
    failed(request, error);
  }
}

/** Goes through server_rewrite again and chooses the location by the request's URI: after an internal redirect. */
export function enterLocation(request: Request): void {
  if (!countRedirect(request)) return;
  request.stage = Stage.Server;
  request.location = request.server.fallback;
  request.cursor = 0;
  request.refusal = 0;
  skipPhase(request, request.server.steps, POST_READ);
  run(request);
}

/** Goes on in a named location, keeping the URI. */
export function enterNamedLocation(request: Request, name: string): void {
  if (!countRedirect(request)) return;
  const location = request.server.locations.named(name);
  if (location === undefined) {
    request.context.log.write('error', `could not find named location "${name}"`, request);
    respondWithStatus(request, 500);
    return;
  }
  choose(request, location);
  if (isBodyTooLong(request, location)) respondWithStatus(request, 413);
  else run(request);
}

/** The rest of a body without a length is limited by the named location. A body that was read is not checked again (nginx). */
function isBodyTooLong({ body, contentLength }: Request, { settings }: Location): boolean {
  return body !== undefined && contentLength < 0 && !body.isRead && !body.limitTo(settings.clientMaxBodySize);
}

/** Chooses the location again by the path that a rewrite made. */
export function relocate(request: Request): void {
  endWait(request);
  if (++request.relocations > MAX_REDIRECTS) {
    failInCycle(request);
    return;
  }
  request.stage = Stage.Location;
  request.cursor = -1;
  run(request);
}

/** Goes on with the settings of an `if` block, and with its handlers after those of the module that has entered it. */
export function enterBranch(request: Request, id: number): void {
  const whole = request.wholeLocation ?? request.location;
  const branch = whole.branches?.get(id);
  if (branch === undefined) return;
  request.wholeLocation = whole;
  request.contentIsLost = branch.content === undefined && (request.contentIsLost || request.location.content !== undefined);
  request.location = branch;
  request.cursor = branch.entry;
}

/** Effects of a handler after it has sent the request elsewhere are ignored. */
function endWait({ owner }: Request): void {
  if (owner instanceof RequestWait) owner.end();
}

function failInCycle(request: Request): void {
  request.context.log.write('error', `rewrite or internal redirection cycle while processing "${request.uri}"`, request);
  request.inErrorPage = true;
  respondWithStatus(request, 500);
}

function countRedirect(request: Request): boolean {
  request.internal = true;
  endWait(request);
  if (++request.redirects <= MAX_REDIRECTS) return true;
  failInCycle(request);
  return false;
}

function walk(request: Request): Result {
  if (request.stage === Stage.Server) {
    const result = runSteps(request);
    if (result !== DECLINED) return result;
    request.stage = Stage.Location;
    request.cursor = -1;
  }
  if (request.stage === Stage.Location) {
    if (request.cursor < 0) {
      const found = findLocation(request);
      if (found !== OK) return found;
    }
    const result = runSteps(request);
    if (result !== DECLINED) return result;
    request.stage = Stage.Content;
  }
  if (request.observers !== undefined) tellObservers(request, request.observers, 'content');
  if (request.contentIsLost) return failWithoutContent(request);
  const content = contentOf(request);
  if (content === undefined) return request.method === 'CONNECT' ? 405 : notFound(request);
  return runContent(request, content);
}

function runContent(request: Request, content: Handler): Result {
  const result = content(request);
  return typeof result === 'number' ? contentResult(request, result) : park(request, result);
}

/** A named location that CONNECT was sent to (error_page) opens no tunnel, and passes nothing on. */
function contentOf({ method, location }: Request): Handler | undefined {
  return method === 'CONNECT' ? location.connect : (location.content ?? location.defaultContent);
}

/** As nginx: the content of an `if` block stays with the request, and the settings that it needs do not. */
function failWithoutContent(request: Request): Result {
  request.context.log.write('error', 'no upstream configuration: repeat "proxy_pass" in the last "if" that matches', request);
  return 500;
}

/** find-config: location selection and what the engine checks there. */
function findLocation(request: Request): Result {
  if (request.method === 'CONNECT') {
    choose(request, connectLocation(request.server) ?? request.server.fallback);
    return OK;
  }
  const { location = request.server.fallback, redirect, captures } = request.server.locations.find(request.uri);
  choose(request, location);
  if (captures !== undefined) request.captures = captures;
  if (redirect) {
    request.response.set('Location', `${escapeUri(request.uri)}/${request.args === '' ? '' : `?${request.args}`}`);
    return 301;
  }
  const { settings } = request.location;
  if (settings.internal && !request.internal) return 404;
  const { body } = request;
  if (settings.clientMaxBodySize > 0 && request.contentLength > settings.clientMaxBodySize && body?.isDiscarded !== true) {
    request.context.log.write('error', `client intended to send too large body: ${request.contentLength} bytes`, request);
    return 413;
  }
  if (body?.limitTo(settings.clientMaxBodySize) === false) return 413;
  return OK;
}

function choose(request: Request, location: Location): void {
  const { limitExcept } = location;
  request.location = limitExcept === undefined || limitExcept.methods.has(request.method) ? location : limitExcept.location;
  request.wholeLocation = undefined;
  request.contentIsLost = false;
  request.rewritten = false;
  request.stage = Stage.Location;
  request.cursor = 0;
  request.refusal = 0;
}

function runSteps(request: Request): Result {
  let steps = stepsOf(request);
  while (request.cursor < steps.handlers.length) {
    const phase = steps.phases[request.cursor];
    if (request.refusal !== 0 && phase !== ACCESS) return leaveAccess(request);
    const handler = steps.handlers[request.cursor++];
    // A subrequest may do what the request that makes it may.
    if (phase === ACCESS && request.parent !== undefined) continue;
    if (handler === undefined) break;
    const result = handler(request);
    if (typeof result !== 'number') return park(request, result);
    // It may have entered an `if` block.
    steps = stepsOf(request);
    const weighed = weigh(request, steps, phase ?? 0, result);
    if (weighed !== DECLINED) return weighed;
  }
  return leaveAccess(request);
}

function stepsOf(request: Request): Steps {
  return request.stage === Stage.Server ? request.server.steps : request.location.steps;
}

/** Meaning of a handler's result in its phase: DECLINED goes on. */
function weigh(request: Request, steps: Steps, phase: number, result: Result): Result {
  if (result === DECLINED) return DECLINED;
  if (phase !== ACCESS) {
    if (result !== OK) return result;
    skipPhase(request, steps, phase);
    return DECLINED;
  }
  if (!request.location.settings.satisfyAny) return result === OK ? DECLINED : result;
  if (result === OK) {
    // Another handler has asked for a password.
    if (request.refusal !== 403) {
      request.response.remove('WWW-Authenticate');
      request.response.remove('Proxy-Authenticate');
    }
    request.refusal = 0;
    skipPhase(request, steps, phase);
    return DECLINED;
  }
  if (result !== 401 && result !== 403 && result !== 407) return result;
  // 401 and 407 take precedence over 403.
  if (request.refusal === 0 || request.refusal === 403) request.refusal = result;
  return DECLINED;
}

function leaveAccess(request: Request): Result {
  const { refusal } = request;
  request.refusal = 0;
  return refusal === 0 ? DECLINED : refusal;
}

function skipPhase(request: Request, steps: Steps, phase: number): void {
  while (steps.phases[request.cursor] === phase) request.cursor++;
}

/** The handler waits for something: the request is parked until then. Only this path makes closures. */
function park(request: Request, waiting: Promise<Result>): Result {
  if (!(waiting instanceof Promise)) throw notAResult(waiting, RESULTS);
  const { stage, cursor, redirects, relocations } = request;
  const handler = presentHandler(request);
  // That of an `if` block which the handler enters may have others at the same place.
  const phase = stage === Stage.Content ? 0 : (stepsOf(request).phases[cursor - 1] ?? 0);
  whenSettled(waiting, {
    // A response that the handler has started already has time limits of its own.
    wait: request.owner === undefined && !request.finished ? startWait(request, handler) : undefined,
    isAwaited: () => !request.finished && request.redirects === redirects && request.relocations === relocations,
    resume: (result) => {
      request.context.clock.refresh();
      if (isResult(result)) resume(request, stage, phase, result);
      else failed(request, notAResult(result, RESULTS), handler);
    },
    fail: (error) => failed(request, error, handler),
  });
  return DONE;
}

function startWait(request: Request, handler: unknown): RequestWait {
  return new RequestWait(request, handler, respondWithStatus).start();
}

function resume(request: Request, stage: Stage, phase: number, result: Result): void {
  if (stage === Stage.Content) {
    settle(request, contentResult(request, result));
    return;
  }
  const weighed = weigh(request, stepsOf(request), phase, result);
  if (weighed === DECLINED) run(request);
  else settle(request, weighed);
}

function contentResult(request: Request, result: Result): Result {
  if (result === DECLINED) return notFound(request);
  return result === OK ? DONE : result;
}

function notFound(request: Request): Result {
  request.context.log.write('debug', `no location or content for "${request.uri}"`, request);
  return 404;
}

function settle(request: Request, result: Result): void {
  if (result === DONE) {
    // A handler has promised a response and has not begun it.
    if (request.owner === undefined && !request.finished) startWait(request, presentHandler(request));
    return;
  }
  if (isResult(result)) respondWithStatus(request, result);
  else failed(request, notAResult(result, RESULTS));
}

/** The types of a module written in JavaScript are not checked. */
function isResult(value: unknown): value is Result {
  return value === DECLINED || value === DONE || value === OK || isStatus(value);
}

function failed(request: Request, thrown: unknown, handler = presentHandler(request)): void {
  const error = errorOf(thrown);
  const isTooLarge = error instanceof BodyTooLarge;
  if (isTooLarge) request.context.log.write('error', `client intended to send too large body: ${error.message}`, request);
  else logFailure(request, error, handler);
  request.owner?.discard();
  request.owner = undefined;
  if (!request.finished) respondWithStatus(request, isTooLarge ? 413 : 500);
}
