/** Fields after the body of a response (RFC 9110, 6.5). */
import { fieldLine } from '../../contract/message-text.js';
import { logFailure } from '../request/handler-failure.js';
import type { Request } from '../request/request.js';

/** The field lines, each with its CRLF, which leave behind the body now. A value that fails is logged and left out. */
export function takeTrailers(request: Request): string {
  const { response } = request;
  if (!response.hasTrailers) return '';
  for (const { name, value } of response.lateTrailers) {
    try {
      const text = value();
      if (text !== '') response.trailers += fieldLine(name, text);
    } catch (error) {
      logFailure(request, error, value);
    }
  }
  response.lateTrailers.length = 0;
  return response.trailers;
}
