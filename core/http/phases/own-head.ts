import { inspect } from 'node:util';
import type { SubrequestOptions } from '../../contract/http.js';
import { fieldLine, isToken } from '../../contract/message-text.js';
import { FieldFilter, keptFields } from '../../net/http1/fields.js';
import { parseRequestHead, type RequestHead } from '../../net/http1/request-head.js';
import type { Request } from '../request/request.js';

/**
 * The head of a subrequest: that of the request that makes it, but for the fields that the options name.
 * @throws TypeError for an invalid field or method
 */
export function ownHead(parent: Request, { method, headers }: SubrequestOptions): RequestHead {
  if (method !== undefined && !isToken(method))
    throw new TypeError(`the method of a subrequest must be a token, not ${inspect(method, { depth: 0 })}`);
  const { head } = parent;
  if (headers === undefined) return head;
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  const line = head.text.slice(0, head.fieldsStart);
  const kept = keptFields(head.text, head, new FieldFilter([...names, 'content-length', 'expect']));
  const own = Object.entries(headers).map(([name, value]) => (value === undefined ? '' : fieldLine(name, value)));
  const { context } = parent;
  // The scratch of the parser holds the fields of no request then.
  context.headOwner = undefined;
  if (parseRequestHead(context.head, `${line}${kept}${own.join('')}\r\n`, parent.headLimits, Infinity) !== 0)
    throw new TypeError(`the fields of a subrequest make no head: ${context.head.reason}`);
  return context.head;
}
