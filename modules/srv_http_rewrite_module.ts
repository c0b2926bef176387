import { optional, template } from '../core/module/args.js';
import type { Handler, HttpHandlers, HttpRequest, Result, Scope, Template } from '../core/module/http.js';
import { httpModule } from '../core/module/manifest.js';
import { targetText } from '../core/module/message-text.js';
import { ArgError, directive, type ArgType } from '../core/module/spec.js';

const STATUS = /^\d{1,3}$/;

/** A status, or the URL of a 302. */
function statusOrUrl(): ArgType<number | Template> {
  const url = template('URL');
  return {
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
  };
}

const directives = {
  return: directive({
    in: ['server', 'location', 'if in server', 'if in location'],
    args: { first: statusOrUrl(), second: optional(template('text | URL')) },
    many: true,
    inherit: 'none',
    doc: 'Stops processing and answers with a status, a text or a redirect. Of several the first counts.',
  }),
};

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Answers without a backend (ngx_http_rewrite_module; its rewrite, set and if come with the HTTP directives in full). */
@httpModule({ name: 'srv_http_rewrite_module', api: 1, directives })
export class Rewrite {
  compileServer(scope: Scope<typeof directives>): HttpHandlers | undefined {
    const handler = this.#return(scope);
    return handler && { server_rewrite: handler };
  }

  compile(scope: Scope<typeof directives>): HttpHandlers | undefined {
    if (scope.kind === 'server') return undefined;
    const handler = this.#return(scope);
    return handler && { rewrite: handler };
  }

  #return(scope: Scope<typeof directives>): Handler | undefined {
    if (!scope.own('return')) return undefined;
    assertNothingBehindUrl(scope);
    // What follows the first one is never reached.
    const [line] = scope.conf.return;
    if (line === undefined) return undefined;
    const { first, second } = line;
    if (typeof first !== 'number') return (request) => redirect(request, 302, first);
    if (second === undefined) return (request) => bare(request, first);
    if (REDIRECTS.has(first)) return (request) => redirect(request, first, second);
    return answer(first, second);
  }
}

/** A URL stands alone. */
function assertNothingBehindUrl(scope: Scope<typeof directives>): void {
  for (const line of scope.directive?.block?.named('return') ?? []) {
    const [first = '', second] = line.args.map((word) => word.text);
    if (second !== undefined && !STATUS.test(first))
      scope.fail(`invalid return code "${first}"`, line, 'a URL stands alone, or behind a status');
  }
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
function answer(status: number, body: Template): Handler {
  if (body.constant === undefined) return (request) => answerOf(request, status, body);
  const bytes = Buffer.from(body.constant, 'latin1');
  return (request) => request.send(status, bytes, request.defaultType);
}

function answerOf(request: HttpRequest, status: number, body: Template): Result {
  // The text may hold $status.
  request.status = status;
  return request.send(status, Buffer.from(body.of(request), 'latin1'), request.defaultType);
}
