import type { Request } from './request.js';
import { Stage } from './stage.js';

/** Notes in the error log that something of a module threw. It costs this request an answer, and nobody else anything. */
export function logFailure(request: Request, error: unknown, handler: unknown): void {
  const { location, server } = request;
  const module = location.modules.get(handler) ?? server.modules.get(handler);
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const who = module === undefined ? 'a handler' : `a handler of "${module}"`;
  request.context.log.write('crit', `${who} failed: ${reason}`, request);
}

/** The handler that a request is in, or has just come from. */
export function presentHandler({ stage, server, location, cursor }: Request): unknown {
  if (stage === Stage.Content) return location.content;
  return (stage === Stage.Server ? server.steps : location.steps).handlers[cursor - 1];
}
