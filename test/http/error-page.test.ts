import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('error_page in all its forms', async (t) => {
  const backend = await httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) => response.end(`backend ${request.method} ${request.url} ${body}`));
  });
  const srv = await startSrv(
    t,
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
  const port = srv.port('web');
  const ask = async (path: string): Promise<string> => {
    const { status, body } = await get(port, path);
    return `${status} ${body.startsWith('<html>') ? 'built-in' : body}`;
  };
  t.is(await ask('/kept'), '404 page /page of /kept, 404');
  t.is(await ask('/code'), '207 page /page of /code, 207');
  t.is(await ask('/of-page'), '200 many');
  t.is(await ask('/named'), '404 named /named');
  t.is(await ask('/named-of-page'), '202 named /named-of-page');
  t.is(await ask('/variables'), '200 /shows/GET?a=/variables');
  t.is(await ask('/several'), '200 many');
  t.is(await ask('/not-inherited'), '410 built-in', 'the server has lines of its own');
  t.is(await ask('/missing'), '404 built-in', 'the page of an error that is missing itself');
  t.is(await ask('/chain'), '403 built-in', 'the second error shows and has no page');
  t.is(await ask('/proxied-kept'), '404 backend GET /echo ');
  t.is(await ask('/proxied'), '200 backend GET /echo?a=b ');
  t.is(await ask('/raw%2fpath%20x?q=%41'), '200 backend GET /raw%2fpath%20x?q=%41 ', 'a named location gets the target as it was sent');
  t.is(await ask('/no-such-name'), '500 built-in');
  const url = await get(port, '/url');
  t.deepEqual([url.status, url.headers.location], [302, 'http://other.example//url']);
  const moved = await get(port, '/url-301');
  t.deepEqual([moved.status, moved.headers.location], [301, 'http://other.example/']);
  const posted = await get(port, '/proxied', { method: 'POST', body: 'data' });
  t.regex(posted.body, /^backend GET /, 'a page is asked for with GET');
  const named = await get(port, '/raw', { method: 'POST', body: 'data' });
  t.is(named.body, 'backend POST /raw data', 'a named location gets method and body');
  const head = await get(port, '/kept', { method: 'HEAD' });
  t.deepEqual([head.status, head.body], [404, '']);
});

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
