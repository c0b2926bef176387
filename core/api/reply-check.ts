import { inspect } from 'node:util';
import type { Reply } from '../contract/control.js';
import { fieldLine } from '../contract/message-text.js';
import type { ApiCall, ApiResponse } from './api-call.js';
import { responseOf } from './api-response.js';
import { NamedStream } from './named-stream.js';
import type { Route } from './route-table.js';

/**
 * As {@link responseOf}. The types of a module written in JavaScript are not checked.
 * @throws TypeError with the route and its module
 */
export function responseOfRoute(call: ApiCall, { verb, path, module }: Pick<Route, 'verb' | 'path' | 'module'>, reply: Reply): ApiResponse {
  const error = replyError(reply) ?? headersError(reply.headers ?? {});
  const what = `route ${verb} ${path} of module "${module}"`;
  if (error !== undefined) throw new TypeError(`${what} ${error}`);
  try {
    const response = responseOf(call, reply);
    const { stream } = response;
    return stream === undefined ? response : { ...response, stream: new NamedStream(stream, what) };
  } catch (failure) {
    const [reason = ''] = (failure as Error).message.split('\n', 1);
    throw new TypeError(`${what} returned a body that JSON cannot carry: ${reason}`, { cause: failure });
  }
}

/** Error in the result of a route. */
export function replyError(reply: unknown): string | undefined {
  if (typeof reply !== 'object' || reply === null) return `must return { status, body }, not ${inspect(reply, { depth: 0 })}`;
  const { status } = reply as { readonly status?: unknown };
  if (Number.isInteger(status) && (status as number) >= 200 && (status as number) < 600) return undefined;
  return `must return { status, body } with a status from 200 to 599, not ${inspect(status, { depth: 0 })}`;
}

function headersError(headers: object): string | undefined {
  for (const [name, value] of Object.entries(headers as Readonly<Record<string, unknown>>)) {
    try {
      if (typeof value === 'string') fieldLine(name, value);
      else return `returned the header field "${name}" with ${inspect(value, { depth: 0 })}, it must be a string`;
    } catch (error) {
      return `returned a header field that cannot be sent: ${(error as Error).message}`;
    }
  }
  return undefined;
}
