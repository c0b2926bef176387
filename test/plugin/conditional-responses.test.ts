import test from 'ava';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

/** Responses with validators and ranges, and a filter that lists the fields of all responses. */
const PAGES = plugin('pages', {
  imports: `import { conditionalResult } from 'srv/toolkit/conditions.js';`,
  manifest: `directives: { page: directive({ in: ['location'], args: text() }) }`,
  body: `
  compile(scope) {
    const tag = scope.conf.page;
    return {
      ...(tag && { content: (request) => {
        const { response } = request;
        response.set('ETag', tag);
        response.set('Last-Modified', 'Mon, 23 Nov 2026 00:00:00 GMT');
        response.allowsRanges = true;
        return conditionalResult(request) ?? request.send(200, '0123456789', 'text/plain');
      } }),
      header: ({ response }) => response.set('X-Fields', Array.from(response.entries(), ([name]) => name).join(' ')),
    };
  }`,
});

const CONF = `load_module modules/pages.js; worker_processes 1; events {}
  http { server { listen 127.0.0.1:%%PORT_web%%; location / { page '"v1"'; } location /weak { page 'W/"v1"'; } location /other { add_header A 1; return 200 ok; } } }`;

const DATE = 'Mon, 23 Nov 2026 00:00:00 GMT';
const EARLIER = 'Sun, 22 Nov 2026 00:00:00 GMT';

test('responses of modules know conditions and ranges, and filters see all fields', async (t) => {
  const srv = await startSrv(t, CONF, { files: { 'modules/pages.js': PAGES } });
  const port = srv.port('web');
  const cases: readonly (readonly [fields: Record<string, string>, status: number, path?: string, method?: string])[] = [
    [{}, 200],
    [{ 'if-none-match': '"v1"' }, 304],
    [{ 'if-none-match': 'W/"v1", "v0"' }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"v2"' }, 200],
    [{ 'if-none-match': '"v2"', 'if-modified-since': DATE }, 200],
    [{ 'if-none-match': '"v1"' }, 304, '/weak'],
    [{ 'if-none-match': '"v1"' }, 412, '/', 'PUT'],
    [{ 'if-modified-since': DATE }, 304],
    [{ 'if-modified-since': EARLIER }, 200],
    [{ 'if-modified-since': 'never' }, 200],
    [{ 'if-match': '"v1"' }, 200],
    [{ 'if-match': '"v2"' }, 412],
    [{ 'if-match': '"v1"' }, 412, '/weak'],
    [{ 'if-unmodified-since': EARLIER }, 412],
    [{ range: 'bytes=2-3' }, 206],
    [{ range: 'bytes=2-3', 'if-range': '"v1"' }, 206],
    [{ range: 'bytes=2-3', 'if-range': '"v0"' }, 200],
    [{ range: 'bytes=99-' }, 416],
    [{ range: 'bytes=2-3', 'if-none-match': '"v1"' }, 304],
  ];
  for (const [headers, status, path = '/', method = 'GET'] of cases) {
    const response = await get(port, path, { headers, method });
    t.is(response.status, status, JSON.stringify([headers, path, method]));
    if (status === 206) t.is(response.body, '23');
    if (status === 304) t.is(response.headers.etag?.replace('W/', ''), '"v1"');
  }
  const { headers } = await get(port, '/');
  t.is(headers['x-fields'], 'Content-Type Last-Modified ETag');
  t.is((await get(port, '/other')).headers['x-fields'], 'Content-Type');
});
