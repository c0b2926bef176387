import { fieldName, fieldValue, findField, keptFields } from '../../net/http1/fields.js';
import { parseFound } from '../../net/http1/head-end.js';
import { HEAD_TOO_LARGE, type HeadLimits } from '../../net/http1/message-head.js';
import { parseResponseHead, type ResponseHead } from '../../net/http1/response-head.js';
import { type HttpContext, OwnField } from '../request/context.js';
import type { ExchangeRoute } from './exchange-route.js';
import { MemberField } from './response-fields.js';
import { logFailure } from '../request/handler-failure.js';
import { completeRedirect } from '../request/redirect-location.js';
import type { HeaderList } from '../request/header-list.js';
import type { Request } from '../request/request.js';

/** Offset of the status in a head: behind `HTTP/1.1 `. */
const STATUS_AT = 9;

/**
 * Parses the head of a final response into the scratch, past interim ones (1xx).
 * @returns the offset behind it; 0: more bytes are needed, from `context.interimEnd` on; -1: it is malformed
 */
export function parseFinalHead(context: HttpContext, bytes: Buffer, limits: HeadLimits): number {
  const { responseEnd, responseHead: head } = context;
  context.interimEnd = 0;
  for (;;) {
    const from = context.interimEnd;
    responseEnd.reset();
    const end = from < bytes.length ? responseEnd.find(bytes, from, limits) : 0;
    if (end === 0) return 0;
    if (end < 0) {
      head.forget();
      return -1;
    }
    if (parseFound(responseEnd, bytes, from, end, limits, head, parseResponseHead) !== 0) return -1;
    if (!head.interim) return responseEnd.end;
    context.interimEnd = responseEnd.end;
  }
}

/** For the log: why a head is malformed. */
export function headFailure({ responseEnd: { code }, responseHead: { reason } }: HttpContext): string {
  if (code === HEAD_TOO_LARGE || code === 414) return 'upstream sent too big header while reading response header from upstream';
  const why = reason === '' ? '' : ` (${reason})`;
  return `upstream sent invalid header while reading response header from upstream${why}`;
}

/**
 * Makes the head of a member's response that of the request's response: status, fields, Location as proxy_redirect wants it.
 * @returns false if a text of proxy_redirect could not be made: that is logged
 */
export function adoptHead(request: Request, route: ExchangeRoute, head: ResponseHead): boolean {
  request.status = head.status;
  request.response.allowsRanges = route.plan.forceRanges;
  if (head.reasonEnd > head.reasonStart) request.statusLine = head.text.slice(STATUS_AT, head.reasonEnd);
  const { response } = request;
  response.appendLines(keptFields(head.text, head, route.hidden));
  // RFC 9110, 15.5.22: without it a 426 says nothing.
  if (head.status === 426) response.appendLines(namedFields(head, 'upgrade'));
  adoptLeading(response, route, head);
  if (route.passesServer) request.ownFields &= ~OwnField.Server;
  if (route.passesDate) request.ownFields &= ~OwnField.Date;
  if (!route.fields.hasRedirect) return true;
  try {
    rewriteLocation(request, route);
    rewriteRefresh(request, route);
    return true;
  } catch (error) {
    logFailure(request, error, request.location.content);
    return false;
  }
}

/** Takes the fields that lead the response out of a member's head, unless a module has set them. */
function adoptLeading(response: HeaderList, route: ExchangeRoute, head: ResponseHead): void {
  const { fields } = route;
  if (route.passesContentType && response.contentType === '') response.contentType = fields.line(head, MemberField.ContentType);
  if (route.passesLastModified && response.lastModified === '') response.lastModified = fields.line(head, MemberField.LastModified);
  if (route.passesLocation && response.location === '') response.location = fields.line(head, MemberField.Location);
}

/** All field lines of that name. */
export function namedFields({ text, fields, count }: ResponseHead, lowerName: string): string {
  let lines = '';
  for (let at = -1; (at = findField(text, fields, count, lowerName, at + 1)) >= 0;) {
    lines += `${fieldName(text, fields, at)}: ${fieldValue(text, fields, at)}\r\n`;
  }
  return lines;
}

function rewriteLocation(request: Request, { plan }: ExchangeRoute): void {
  const location = plan.rewriteLocation === undefined ? undefined : request.response.get('Location');
  const rewritten = location === undefined ? undefined : plan.rewriteLocation?.(location, request);
  if (rewritten === undefined) return;
  request.response.set('Location', rewritten);
  completeRedirect(request);
}

/** `Refresh: 0; url=http://member/`: proxy_redirect holds for what follows the url=. */
function rewriteRefresh(request: Request, { plan }: ExchangeRoute): void {
  const value = request.response.get('Refresh') ?? '';
  const at = value.search(/(?<=url=)/i);
  const rewritten = at < 0 ? undefined : plan.rewriteLocation?.(value.slice(at), request);
  if (rewritten !== undefined) request.response.set('Refresh', value.slice(0, at) + rewritten);
}
