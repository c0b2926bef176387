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
import { logFailure } from '../session/handler-failure.js';
import type { Session } from '../session/session.js';
import type { SessionFlow } from '../session/session-flow.js';
import type { SessionSteps } from '../site/server.js';
import { SessionWait } from './session-wait.js';
import { runLast } from '../../run/handler-failure.js';
import { isStatus, notAResult } from '../../run/handler-result.js';
import { whenSettled } from '../../run/parked-handler.js';

const PREREAD = STREAM_PHASES.indexOf('preread');
const RESULTS = 'DECLINED, DONE, OK (in preread also AGAIN)';

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
      if (typeof result !== 'number') {
        // The handler does not wait for the client now.
        session.context.timers.forget(session);
        park(session, result, handler, (settled) => apply(session, settled, steps));
        return;
      }
      if (!apply(session, result, steps)) return;
    }
  },

  timedOut(session) {
    session.isPrereadLate = true;
    // The handler is awaited, and says then whether it needs more.
    if (session.owner !== undefined) return;
    session.isPrereadOver = true;
    session.client.endWait();
    session.continue();
  },

  finish(session) {
    if (!session.isPassed) for (const handler of session.server.logHandlers) runLast(session, handler, handler, logFailure);
    for (const step of session.takeEndSteps()) runLast(session, step, undefined, logFailure);
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
  session.isPrereadOver = session.isPrereadLate = false;
  if (result !== DECLINED && result !== OK) return settle(session, result, before.handlers[step]);
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

/** @returns true: the handler is called once more, with what there is */
function waitForMore(session: Session): boolean {
  const { client, context, server } = session;
  const isFull = client.held.length >= server.settings.prereadBufferSize;
  if (!session.isPrereadOver && (isFull || client.hasEnded || session.isPrereadLate)) return (session.isPrereadOver = true);
  if (isFull) {
    context.log.write('error', 'preread buffer full', session);
    session.end(STREAM_BAD_REQUEST);
  } else if (session.isPrereadOver) {
    const reason = client.hasEnded ? 'client closed connection' : 'client timed out (110: Connection timed out)';
    context.log.write('info', `${reason} while prereading client data`, session);
    session.end(STREAM_OK);
  } else {
    if (session.deadline === 0) context.timers.arm(session, server.settings.prereadTimeout);
    client.waitForMore();
  }
  return false;
}

function runContent(session: Session, content: StreamHandler): void {
  const result = run(session, content);
  if (typeof result === 'number') finishContent(session, result, content);
  else park(session, result, content, (settled) => finishContent(session, settled, content));
}

function finishContent(session: Session, result: StreamResult, content: StreamHandler): false {
  return settle(session, result === OK || result === DECLINED ? STREAM_OK : result, content);
}

/** A handler has ended the session, or has promised to. */
function settle(session: Session, result: StreamResult, handler: unknown): false {
  if (result === DONE) {
    if (session.owner === undefined && session.status === 0) startWait(session, handler);
  } else if (session.status === 0) {
    session.end(isStatus(result) ? result : failed(session, notAResult(result, RESULTS), handler));
  }
  return false;
}

/** The handler waits for something: the session is parked until then. Only this path makes closures. */
function park(session: Session, waiting: Promise<StreamResult>, handler: StreamHandler, then: (result: StreamResult) => boolean): void {
  if (!(waiting instanceof Promise)) {
    settle(session, waiting, handler);
    return;
  }
  whenSettled(waiting, {
    // A relay that the handler has started already has time limits of its own.
    wait: session.owner === undefined && session.status === 0 ? startWait(session, handler) : undefined,
    isAwaited: () => session.status === 0,
    resume: (result) => {
      session.context.clock.refresh();
      if (then(result as StreamResult)) session.continue();
    },
    fail: (error) => session.end(failed(session, error, handler)),
  });
}

function startWait(session: Session, handler: unknown): SessionWait {
  return new SessionWait(session, handler).start();
}

function failed(session: Session, thrown: unknown, handler: unknown): StreamResult {
  logFailure(session, thrown, handler);
  return STREAM_INTERNAL_ERROR;
}
