import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { httpBackend, type HttpBackend } from '../harness/backends.js';
import type { Scope } from '../harness/scope.js';

/** A member whose responses are what the arguments of the requests say. */
export interface CacheMember {
  readonly backend: HttpBackend;
  /** Requests that it got for a path. */
  count(path: string): number;
  /** Paths that it responds to with a 500. */
  readonly failing: Set<string>;
}

/**
 * `f=Name:value` is a field of the response, `status` its status, `delay` the milliseconds that it takes, `tag` its ETag, which is looked for in
 * If-None-Match; `size` the bytes of the body; `until` the number of the request for that path with which the rest of the body is sent; with `cut`
 * the connection ends in the middle of it. Otherwise the body is method, path, number of the request for that path, and Accept-Language.
 */
export async function cacheMember(scope: Scope): Promise<CacheMember> {
  const counts = new Map<string, number>();
  const numbers = new EventEmitter();
  const backend = await httpBackend(scope, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://member');
    const count = (counts.get(pathname) ?? 0) + 1;
    counts.set(pathname, count);
    numbers.emit(`${pathname} ${count}`);
    const text = `${request.method} ${pathname} ${count} ${request.headers['accept-language'] ?? ''}`.trim();
    const until = Number(searchParams.get('until') ?? 0);
    if (until > count) {
      appendFields(response, searchParams);
      response.write(text.slice(0, 1));
      numbers.once(`${pathname} ${until}`, () => response.end(text.slice(1)));
    } else
      setTimeout(
        () => respond(request, response, searchParams, member.failing.has(pathname), text),
        Number(searchParams.get('delay') ?? 0),
      );
  });
  const member: CacheMember = { backend, failing: new Set(), count: (path) => counts.get(path) ?? 0 };
  return member;
}

function appendFields(response: ServerResponse, args: URLSearchParams): void {
  for (const field of args.getAll('f')) {
    const colon = field.indexOf(':');
    response.appendHeader(field.slice(0, colon), field.slice(colon + 1));
  }
}

function respond(request: IncomingMessage, response: ServerResponse, args: URLSearchParams, fails: boolean, text: string): void {
  appendFields(response, args);
  const tag = args.get('tag');
  if (tag !== null) response.setHeader('ETag', `"${tag}"`);
  const size = args.get('size');
  const body = size === null ? text : text.padEnd(Number(size), '.');
  if (args.has('cut')) {
    response.writeHead(200, { 'Content-Length': body.length }).write(body.slice(0, body.length / 2), () => response.destroy());
    return;
  }
  if (tag !== null && !fails && request.headers['if-none-match'] === `"${tag}"`) response.writeHead(304).end();
  else response.writeHead(fails ? 500 : Number(args.get('status') ?? 200)).end(body);
}
