import { text } from '../../core/contract/args.js';
import { route, type Call, type Reply } from '../../core/contract/control.js';
import type { Handler, HttpHandlers, HttpRequest, LocationScope } from '../../core/contract/http.js';
import { controlModule, type HttpModule } from '../../core/contract/manifest.js';
import { Type } from '../../core/contract/schema.js';
import { ServerInfo } from '../../core/contract/server-info.js';
import { directive } from '../../core/contract/spec.js';
import { readPage, type PageFile } from './files.js';

const directives = {
  dashboard: directive({
    in: ['location'],
    args: text('path of the API'),
    inherit: 'none',
    doc: 'Serves a page that shows the server and changes it, in a browser. It calls the API at this path of the same server.',
  }),
};

/** Nothing but the files of this page, and calls of this server; no code and no style in the text of the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  // The URL of its worker, which is a constant.
  'trusted-types srv-streams',
].join('; ');
const FIELDS = {
  'Content-Security-Policy': POLICY,
  'Cache-Control': 'no-cache',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  Vary: 'Accept-Encoding',
};

const read = {
  summary: 'Read who calls, what the caller may do, and which server this is',
  open: true,
  responses: {
    200: Type.Object({
      actor: Type.String(),
      by: Type.Enum(['token', 'certificate', 'basic', 'none']),
      scopes: Type.Optional(Type.Array(Type.String(), { description: 'Absent: everything is allowed.' })),
      read_only: Type.Boolean({ description: 'Only calls that change nothing are allowed (`api_read_only`).' }),
      node: Type.String(),
      srv: Type.String({ description: 'Version of the program.' }),
    }),
  },
} as const;

/** A page for operators: `location / { dashboard /api; }`, and `/v1/dashboard`, by which it knows what it may offer. */
@controlModule({ name: 'srv_dashboard_module', api: 1, key: 'dashboard', directives })
export class Dashboard implements HttpModule {
  constructor(private readonly info: ServerInfo) {}

  compile(scope: LocationScope<typeof directives>): HttpHandlers | undefined {
    if (!scope.own('dashboard')) return undefined;
    const api = scope.conf.dashboard;
    if (api === undefined || !/^\/[^\s?#]*$/.test(api))
      return scope.fail('"dashboard" requires the path of the API', 'dashboard', 'such as /api');
    const page = readPage(api.replace(/\/+$/, ''));
    if (page === undefined) return scope.fail('the files of the dashboard are missing', 'dashboard', 'build srv with "npm run build"');
    return { content: handler(page) };
  }

  @route('GET', '', read)
  read({ actor, access }: Call<typeof read>): Reply {
    const { by, scopes, isReadOnly } = access;
    const { nodeName: node, version: srv } = this.info;
    return { status: 200, body: { actor, by, ...(scopes && { scopes }), read_only: isReadOnly, node, srv } };
  }
}

function handler(page: ReadonlyMap<string, PageFile>): Handler {
  return (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return 405;
    const file = page.get(request.uri.slice(request.uri.lastIndexOf('/') + 1) || 'index.html');
    if (file === undefined) return 404;
    const { response } = request;
    for (const [name, value] of Object.entries(FIELDS)) response.set(name, value);
    response.set('ETag', file.etag);
    if (request.header('if-none-match') === file.etag) return request.send(304, '');
    if (!acceptsGzip(request)) return request.send(200, file.body, file.type);
    response.set('Content-Encoding', 'gzip');
    return request.send(200, file.gzip, file.type);
  };
}

function acceptsGzip(request: HttpRequest): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(request.header('accept-encoding') ?? '');
}
