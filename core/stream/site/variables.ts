import { Variables } from '../../config/variables.js';
import type { Log } from '../../contract/log.js';
import type { StreamSession } from '../../contract/stream.js';

/** Parts of the engine's sessions beyond the contract. */
interface Own extends StreamSession {
  readonly assigned: ReadonlyMap<string, string> | undefined;
  readonly context: { readonly log: Log };
}

const never = (): boolean => false;

/** The variables of sessions. */
export class StreamVariables extends Variables<StreamSession> {
  constructor() {
    super(
      (session, name) => (session as Own).assigned?.get(name),
      (digit) => (session) => session.captures?.[Number(digit)],
      never,
      never,
      never,
      (session, name) => (session as Own).context.log.write('error', `cycle while evaluating variable "${name}"`, session),
    );
  }
}
