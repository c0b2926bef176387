import { failureText } from '../../run/handler-failure.js';
import type { Session } from './session.js';

/** Logs what a module has thrown. It costs this session its service, and others nothing. */
export function logFailure(session: Session, thrown: unknown, handler: unknown): void {
  session.context.log.write('crit', failureText(thrown, session.server.modules.get(handler)), session);
}
