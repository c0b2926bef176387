import { type HttpRequest, MalformedBody } from '../../contract/http.js';
import type { Log } from '../../contract/log.js';
import type { Location } from '../site/location.js';
import type { RequestServer } from '../site/virtual-server.js';
import { Stage } from './stage.js';
import { errorOf } from '../../contract/thrown.js';
import { describeHandler, failureText } from '../../run/handler-failure.js';

/** A request whose handlers may fail. */
export interface HandledRequest extends HttpRequest {
  readonly context: { readonly log: Log };
  readonly server: RequestServer;
  readonly location: Location;
}

/** Where a request is among its handlers. */
interface HandlerPosition extends HandledRequest {
  readonly stage: Stage;
  /** Index of the next handler. */
  readonly cursor: number;
  /** The header filter that is running. */
  readonly filter: unknown;
}

/** Logs what a module has thrown. It costs this request its response, and others nothing. */
export function logFailure(request: HandledRequest, thrown: unknown, handler: unknown): void {
  const { log } = request.context;
  const error = errorOf(thrown);
  if (error instanceof MalformedBody) log.write('error', error.message, request);
  else log.write('crit', failureText(error, moduleOf(request, handler)), request);
}

/** `a handler of "acme_http_x_module"`, for the log. */
export function handlerName(request: HandledRequest, handler: unknown, what?: string): string {
  return describeHandler(moduleOf(request, handler), what);
}

function moduleOf({ location, server }: HandledRequest, handler: unknown): string | undefined {
  return location.modules.get(handler) ?? server.modules.get(handler);
}

/** The handler or header filter that a request is in, or the handler it has just come from. */
export function presentHandler({ filter, stage, server, location, cursor, method }: HandlerPosition): unknown {
  if (filter !== undefined) return filter;
  if (stage === Stage.Content) return method === 'CONNECT' ? location.connect : (location.content ?? location.defaultContent);
  return (stage === Stage.Server ? server.steps : location.steps).handlers[cursor - 1];
}
