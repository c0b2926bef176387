import { argType } from '../../core/contract/arg-type.js';
import { template } from '../../core/contract/args.js';
import type { HttpRequest, Result, Template } from '../../core/contract/http.js';
import { targetText } from '../../core/contract/message-text.js';
import { ArgError, type ArgType } from '../../core/contract/spec.js';

const STATUS = /^\d{1,3}$/;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** The arguments of one `return`. */
export interface ReturnLine {
  readonly first: number | Template;
  readonly second: Template | undefined;
}

/** A status, or the URL of a 302. */
export function statusOrUrl(): ArgType<number | Template> {
  const url = template('URL');
  return argType({
    kind: 'text',
    form: 'code | URL',
    parse(value, context) {
      if (STATUS.test(value)) return Number(value);
      if (/^(https?:\/\/|\$scheme)/.test(value)) return url.parse(value, context);
      throw new ArgError(
        `invalid return code "${value}"`,
        'a status from 0 to 999, or a URL that begins with http://, https:// or $scheme',
      );
    },
  });
}

/** True for a URL with something after it: it has to be the only argument, or follow a status. */
export function isUrlWithText([first = '', second]: readonly string[]): boolean {
  return second !== undefined && !STATUS.test(first);
}

export function returnHandler({ first, second }: ReturnLine): (request: HttpRequest) => Result {
  if (typeof first !== 'number') return (request) => redirect(request, 302, first);
  if (second === undefined) return (request) => bare(request, first);
  if (REDIRECTS.has(first)) return (request) => redirect(request, first, second);
  return withText(first, second);
}

function bare(request: HttpRequest, status: number): Result {
  if (status >= 400 || REDIRECTS.has(status)) return status;
  return request.send(status, '', request.defaultType);
}

function redirect(request: HttpRequest, status: number, url: Template): Result {
  request.response.set('Location', targetText(url.of(request)));
  return status;
}

/** Values of templates are strings of bytes. A constant body is made once. */
function withText(status: number, body: Template): (request: HttpRequest) => Result {
  if (body.constant === undefined) return (request) => sendText(request, status, body);
  const bytes = Buffer.from(body.constant, 'latin1');
  return (request) => request.send(status, bytes, request.defaultType);
}

function sendText(request: HttpRequest, status: number, body: Template): Result {
  // The text may hold $status.
  request.status = status;
  return request.send(status, Buffer.from(body.of(request), 'latin1'), request.defaultType);
}
