import type { ApiError } from '../contract/control.js';
import { ParticipantGone, type Participant } from './participant.js';
import { unavailable } from './unavailable.js';
import { TimeIsOver, within } from './time-limit.js';

/**
 * Sends a decision to every worker, and resolves when it is active in all of them. A worker follows in the order of the calls, so one that
 * is merely busy follows as soon as it can; one that hangs is replaced, and its replacement starts with the decision. One that died
 * does not count.
 * @throws ApiError 503 when one has not followed after `ms` milliseconds
 */
export async function inForceEverywhere(
  participants: Iterable<Participant>,
  ms: number,
  tell: (participant: Participant) => Promise<void>,
): Promise<void> {
  const followed = await Promise.all(Array.from(participants, (participant) => follows(participant, ms, tell)));
  if (followed.includes(false)) throw inDoubt();
}

/** How long the response of a worker is waited for. Milliseconds. */
const TOLD_LIMIT = 1500;

/** Sends a message to every worker without waiting for responses. A busy one follows when it can. */
export async function toldEverywhere(
  participants: Iterable<Participant>,
  tell: (participant: Participant) => Promise<void>,
): Promise<void> {
  await Promise.all(Array.from(participants, (participant) => follows(participant, TOLD_LIMIT, tell)));
}

async function follows(participant: Participant, ms: number, tell: (participant: Participant) => Promise<void>): Promise<boolean> {
  try {
    await within(ms, tell(participant));
  } catch (error) {
    if (error instanceof ParticipantGone) return true;
    if (!(error instanceof TimeIsOver)) throw error;
    participant.suspect();
    return false;
  }
  return true;
}

function inDoubt(): ApiError {
  return unavailable('has made the change, but a worker is busy: there it takes effect as soon as that worker responds');
}
