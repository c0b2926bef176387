import {
  AGAIN,
  DECLINED,
  DONE,
  OK,
  STREAM_BAD_REQUEST,
  STREAM_INTERNAL_ERROR,
  STREAM_OK,
  STREAM_PHASES,
  type StreamHandler,
  type StreamResult,
} from '../../contract/stream.js';
import type { Session } from '../session/session.js';
import type { SessionFlow } from '../session/session-flow.js';
import type { SessionSteps } from '../site/server.js';
import { SessionWait } from './session-wait.js';
import { stackOf } from '../../contract/thrown.js';

const PREREAD = STREAM_PHASES.indexOf('preread');

/** Runs the handlers of a session, phase by phase, then its content. */
export const phaseRunner: SessionFlow = {
  advance(session) {
    while (session.status === 0) {
      const { steps, content } = session.server;
      const { step } = session;
      const phase = steps.phases[step] ?? PREREAD;
      if (phase >= PREREAD && !session.isReady && !makeReady(session)) return;
      // The handshake has chosen another server.
      if (session.server.steps !== steps) continue;
      const handler = steps.handlers[step];
      if (handler === undefined) {
        runContent(session, content);
        return;
      }
      const result = run(session, handler);
      if (result instanceof Promise) {
        park(session, result, handler, (settled) => apply(session, settled, steps));
        return;
      }
      if (!apply(session, result, steps)) return;
    }
  },

  timedOut(session) {
    session.end(STREAM_OK);
  },

  finish(session) {
    if (!session.isPassed) for (const handler of session.server.logHandlers) runLast(session, handler, handler);
    for (const step of session.takeEndSteps()) runLast(session, step, undefined);
  },
};

/** False: it continues later, or has ended. */
function makeReady(session: Session): boolean {
  const { server } = session;
  const isReady = session.client.prepare(session);
  session.isReady ||= isReady;
  if (isReady && session.server !== server) session.step = stepsBefore(session.server.steps, PREREAD, -1);
  return isReady;
}

function run(session: Session, handler: StreamHandler): StreamResult | Promise<StreamResult> {
  try {
    return handler(session);
  } catch (error) {
    return failed(session, error, handler);
  }
}

/** @returns true: goes on with the next handler */
function apply(session: Session, result: StreamResult, before: SessionSteps): boolean {
  if (session.status !== 0) return false;
  const { step } = session;
  const phase = before.phases[step] ?? PREREAD;
  if (result === AGAIN && phase === PREREAD) return waitForMore(session);
  session.context.timers.forget(session);
  if (result === DONE) return false;
  if (result !== DECLINED && result !== OK) {
    session.end(result);
    return false;
  }
  const place = result === OK ? Infinity : (before.places[step] ?? 0);
  const { steps } = session.server;
  // As long as the server stays the same the handlers of one module are one after the other.
  if (steps === before && result === DECLINED) session.step++;
  else session.step = stepsBefore(steps, phase, place);
  return true;
}

/** Number of handlers before the ones that follow a module in a phase. */
function stepsBefore({ phases, places }: SessionSteps, phase: number, place: number): number {
  const next = phases.findIndex((other, at) => other > phase || (other === phase && (places[at] ?? 0) > place));
  return next < 0 ? phases.length : next;
}

function waitForMore(session: Session): boolean {
  const { client, context, server } = session;
  if (client.held.length >= server.settings.prereadBufferSize) {
    context.log.write('error', 'preread buffer full', session);
    session.end(STREAM_BAD_REQUEST);
  } else if (client.hasEnded) session.end(STREAM_OK);
  else {
    if (session.deadline === 0) context.timers.arm(session, server.settings.prereadTimeout);
    client.waitForMore();
  }
  return false;
}

function runContent(session: Session, content: StreamHandler): void {
  const result = run(session, content);
  if (result instanceof Promise) park(session, result, content, (settled) => finishContent(session, settled));
  else finishContent(session, result);
}

function finishContent(session: Session, result: StreamResult): false {
  if (result !== DONE) session.end(result === OK || result === DECLINED ? STREAM_OK : result);
  return false;
}

/** The handler waits for something: the session is parked until then. Only this path makes closures. */
function park(session: Session, result: Promise<StreamResult>, handler: StreamHandler, then: (result: StreamResult) => boolean): void {
  // A relay that the handler has started already has time limits of its own.
  const wait = session.owner === undefined && session.status === 0 ? new SessionWait(session, handler).start() : undefined;
  result
    .catch((error: unknown) => failed(session, error, handler))
    .then((settled) => {
      wait?.end();
      if (session.status === 0 && then(settled)) session.continue();
    })
    .catch((error: unknown) => session.end(failed(session, error, handler)));
}

function runLast(session: Session, step: (session: Session) => unknown, handler: unknown): void {
  try {
    const returned = step(session);
    if (returned instanceof Promise) returned.catch((error: unknown) => void failed(session, error, handler));
  } catch (error) {
    failed(session, error, handler);
  }
}

function failed(session: Session, error: unknown, handler: unknown): StreamResult {
  const module = session.server.modules.get(handler) ?? 'a module';
  session.context.log.write('error', `${module}: ${stackOf(error)}`, session);
  return STREAM_INTERNAL_ERROR;
}
