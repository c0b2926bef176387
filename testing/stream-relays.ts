/** Relays of sessions to members of upstreams, for unit tests. */
import { DONE, type StreamHandler, type StreamSession } from '../core/contract/stream.js';
import { SessionRelays, type RelayPlan } from '../core/contract/stream-relays.js';

/** Keeps plans, and the sessions that their handlers get. */
export class FakeSessionRelays extends SessionRelays {
  readonly plans: RelayPlan[] = [];
  readonly taken: { readonly session: StreamSession; readonly plan: RelayPlan }[] = [];

  compile(plan: RelayPlan): StreamHandler {
    this.plans.push(plan);
    return (session) => {
      this.taken.push({ session, plan });
      return DONE;
    };
  }
}
