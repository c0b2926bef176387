import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const server = shared(async (scope) => {
  const backend = await httpBackend(scope, (request, response) => {
    void bodyOf(request).then((body) => response.end(`backend ${request.method} ${request.url} ${body}`));
  });
  return startSrv(
    scope,
    `events {}
    http {
      error_page 410 /from-http;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        error_page 404 /page;
        error_page 500 502 503 =200 /many;
        location /page { return 200 "page $uri of $request_uri, $status"; }
        location /many { return 200 many; }
        location /from-http { return 200 never; }
        location /shows/ { return 200 "$uri?$args"; }
        location /echo { proxy_pass http://127.0.0.1:${backend.port}; }
        location @named { return 202 "named $uri"; }
        location @proxy { proxy_pass http://127.0.0.1:${backend.port}; }

        location /kept { return 404; }
        location /code { error_page 404 =207 /page; return 404; }
        location /of-page { error_page 404 = /many; return 404; }
        location /named { error_page 404 @named; return 404; }
        location /named-of-page { error_page 404 = @named; return 404; }
        location /url { error_page 404 http://other.example/$uri; return 404; }
        location /url-301 { error_page 404 =301 http://other.example/; return 404; }
        location /variables { error_page 404 = /shows/$request_method?a=$uri; return 404; }
        location /several { return 503; }
        location /not-inherited { return 410; }
        location /missing { error_page 404 /nowhere; return 404; }
        location /nowhere { return 404; }
        location /chain { error_page 404 /chain-2; return 404; }
        location /chain-2 { error_page 403 /page; return 403; }
        location /proxied { error_page 404 = /echo?a=b; return 404; }
        location /proxied-kept { error_page 404 /echo; return 404; }
        location /raw { error_page 404 = @proxy; return 404; }
        location /no-such-name { error_page 404 @nobody; return 404; }
      }
    }`,
  );
});

async function ask(path: string, options: Parameters<typeof get>[2] = {}): Promise<string> {
  const { status, headers, body } = await get((await server()).port('web'), path, options);
  return `${status} ${headers.location ?? (body.startsWith('<html>') ? 'built-in' : body)}`;
}

const POST = { method: 'POST', body: 'data' };

for (const [what, path, expected, options] of [
  ['the status is kept', '/kept', '404 page /page of /kept, 404'],
  ['another status', '/code', '207 page /page of /code, 207'],
  ['the status of the page', '/of-page', '200 many'],
  ['a named location', '/named', '404 named /named'],
  ['the status of a named location', '/named-of-page', '202 named /named-of-page'],
  ['variables in the URI', '/variables', '200 /shows/GET?a=/variables'],
  ['one of several codes', '/several', '200 many'],
  ['the server has lines of its own, and inherits none', '/not-inherited', '410 built-in'],
  ['a page that is missing itself', '/missing', '404 built-in'],
  ['the second error shows and has no page', '/chain', '403 built-in'],
  ['a proxied page with the status kept', '/proxied-kept', '404 backend GET /echo '],
  ['a proxied page', '/proxied', '200 backend GET /echo?a=b '],
  ['a named location gets the target as it was sent', '/raw%2fpath%20x?q=%41', '200 backend GET /raw%2fpath%20x?q=%41 '],
  ['a named location that does not exist', '/no-such-name', '500 built-in'],
  ['a URL', '/url', '302 http://other.example//url'],
  ['a URL with a status', '/url-301', '301 http://other.example/'],
  ['a page is requested with GET', '/proxied', '200 backend GET /echo?a=b data', POST],
  ['a named location gets method and body', '/raw', '200 backend POST /raw data', POST],
  ['HEAD gets no body', '/kept', '404 ', { method: 'HEAD' }],
] as const) {
  test(`error_page: ${what}`, async (t) => t.is(await ask(path, options), expected));
}

test('return and deny of the server hold for its error pages as well', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_return%%; error_page 403 /page; return 403; location /page { return 200 page; } }
      server { listen 127.0.0.1:%%PORT_named%%; error_page 403 @page; return 403; location @page { return 200 page; } }
    }`,
  );
  const whole = await get(srv.port('return'), '/');
  t.is(whole.status, 403);
  t.notRegex(whole.body, /page/);
  t.is((await get(srv.port('named'), '/')).body, 'page', 'a named location is entered at once');
});

test('error_page 413 responds to a body that is too long', async (t) => {
  const backend = await httpBackend(t, (_, response) => response.end('never'));
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        client_max_body_size 10;
        error_page 413 /too-large;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /too-large { return 200 "keep it short"; }
      }
    }`,
  );
  const port = srv.port('web');
  const length = await get(port, '/', { method: 'POST', body: 'x'.repeat(20) });
  t.deepEqual([length.status, length.body], [413, 'keep it short']);
  const chunked = await get(port, '/', { method: 'POST', headers: { 'transfer-encoding': 'chunked' }, body: 'x'.repeat(20) });
  t.deepEqual([chunked.status, chunked.body], [413, 'keep it short']);
  t.is(backend.requests.length, 0);
});
