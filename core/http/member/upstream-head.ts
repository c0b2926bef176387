import { fieldLine } from '../../contract/message-text.js';
import { fieldName, fieldValue, findField, keptFields } from '../../net/http1/fields.js';
import type { ResponseHead } from '../../net/http1/response-head.js';
import { OwnField } from '../request/context.js';
import type { MemberRoute } from './member-route.js';
import { MemberField } from './response-fields.js';
import { logFailure } from '../request/handler-failure.js';
import { completeRedirect } from '../request/redirect-location.js';
import type { HeaderList } from '../request/header-list.js';
import type { Request } from '../request/request.js';

/** Offset of the status in a head: after `HTTP/1.1 `. */
export const STATUS_AT = 9;

/**
 * Makes the head of a member's response that of the request's response: status, fields, Location as proxy_redirect wants it.
 * @returns false if a text of proxy_redirect or proxy_cookie_path could not be made: that is logged
 */
export function adoptHead(request: Request, route: MemberRoute, head: ResponseHead): boolean {
  request.status = head.status;
  request.response.allowsRanges = route.plan.forceRanges;
  if (head.reasonEnd > head.reasonStart) request.statusLine = head.text.slice(STATUS_AT, head.reasonEnd);
  const { response } = request;
  const lines = cookiesRewritten(request, route, keptFields(head.text, head, route.hidden));
  if (lines === undefined) return false;
  response.appendLines(lines);
  // RFC 9110, 15.5.22: without it a 426 says nothing; nginx passes it with every response.
  if (head.upgradeField) response.appendLines(namedFields(head, 'upgrade'));
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

const SET_COOKIE = /^(set-cookie):(.*)\r\n/gim;

/** Field lines with each Set-Cookie as the location wants it. Undefined: a text could not be made, which is logged. */
export function cookiesRewritten(request: Request, { plan }: MemberRoute, lines: string): string | undefined {
  const { rewriteCookie } = plan;
  if (rewriteCookie === undefined || lines.search(SET_COOKIE) < 0) return lines;
  try {
    return lines.replace(SET_COOKIE, (line: string, name: string, cookie: string) => {
      const rewritten = rewriteCookie(cookie.trim(), request);
      return rewritten === undefined ? line : fieldLine(name, rewritten);
    });
  } catch (error) {
    logFailure(request, error, request.location.content);
    return undefined;
  }
}

/** Takes the fields that lead the response out of a member's head, unless a module has set them. */
function adoptLeading(response: HeaderList, route: MemberRoute, head: ResponseHead): void {
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

function rewriteLocation(request: Request, { plan }: MemberRoute): void {
  const location = plan.rewriteLocation === undefined ? undefined : request.response.get('Location');
  const rewritten = location === undefined ? undefined : plan.rewriteLocation?.(location, request);
  if (rewritten === undefined) return;
  request.response.set('Location', rewritten);
  completeRedirect(request);
}

/** `Refresh: 0; url=http://member/`: proxy_redirect holds for what follows the url=. */
function rewriteRefresh(request: Request, { plan }: MemberRoute): void {
  const value = request.response.get('Refresh') ?? '';
  const at = value.search(/(?<=url=)/i);
  const rewritten = at < 0 ? undefined : plan.rewriteLocation?.(value.slice(at), request);
  if (rewritten !== undefined) request.response.set('Refresh', value.slice(0, at) + rewritten);
}
