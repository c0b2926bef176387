import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('add_header goes to the statuses it is for, with always to all', async (t) => {
  const statuses = [200, 201, 202, 204, 206, 301, 302, 303, 304, 307, 308, 400, 404, 500, 503];
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        add_header X-Some 1;
        add_header X-All 1 always;
        ${statuses.map((status) => `location /${status} { return ${status}${status > 300 && status < 309 && status !== 304 ? ' /x' : ''}; }`).join('\n')}
      }
    }`,
  );
  for (const status of statuses) {
    const { headers } = await get(srv.port('web'), `/${status}`);
    const some = [200, 201, 204, 206, 301, 302, 303, 304, 307, 308].includes(status);
    t.deepEqual([headers['x-some'], headers['x-all']], [some ? '1' : undefined, '1'], String(status));
  }
});

test('add_header: values, order, inheritance', async (t) => {
  const backend = await httpBackend(t, (_, response) => {
    response.setHeader('x-a', 'backend');
    response.end('ok');
  });
  const srv = await startSrv(
    t,
    `events {}
    http {
      add_header X-Http http;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /inherits { return 200; }
        location /own { add_header X-Own own; return 200; }
        location /nested/ { add_header X-Outer outer; return 200; location /nested/in { return 200; } }
        location /values { add_header X-A "$request_method $arg_a"; add_header X-Empty "$arg_none"; add_header X-A two; add_header $arg_name named; return 200; }
        location /proxied { add_header X-A added; proxy_pass http://127.0.0.1:${backend.port}; }
        location /injected { add_header X-Path $uri; return 200; }
      }
    }`,
  );
  const ask = async (path: string): Promise<string[]> => {
    const { rawHeaders } = await get(srv.port('web'), path);
    return rawHeaders.flatMap((name, at) => (at % 2 === 0 && /^x-/i.test(name) ? `${name}: ${rawHeaders[at + 1]}` : []));
  };
  t.deepEqual(await ask('/inherits'), ['X-Http: http']);
  t.deepEqual(await ask('/own'), ['X-Own: own'], 'one of its own: none of outside');
  t.deepEqual(await ask('/nested/in'), ['X-Outer: outer']);
  t.deepEqual(await ask('/values?a=1&name=X-Named'), ['X-A: GET 1', 'X-A: two', 'X-Named: named']);
  t.deepEqual(await ask('/proxied'), ['x-a: backend', 'X-A: added']);
  t.deepEqual(await ask('/injected%0d%0aX-Evil:1'), ['X-Path: /injected  X-Evil:1']);
});

test('add_header of Last-Modified and ETag replaces; an empty value removes', async (t) => {
  const backend = await httpBackend(t, (_, response) => {
    response.setHeader('last-modified', 'Mon, 01 Jan 2024 00:00:00 GMT');
    response.setHeader('etag', '"backend"');
    response.setHeader('x-a', 'backend');
    response.end('ok');
  });
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location / { proxy_pass http://127.0.0.1:${backend.port}; add_header etag '"own"'; add_header Last-Modified now; }
      location /cleared { proxy_pass http://127.0.0.1:${backend.port}; add_header ETag "$arg_none"; add_header $arg_name ""; add_header X-A ""; }
      location /own { add_header ETag '"one"'; add_header ETag '"two"'; return 200; } } }`,
  );
  const ask = async (path: string): Promise<string[]> => {
    const { rawHeaders } = await get(srv.port('web'), path);
    return rawHeaders
      .flatMap((name, at) =>
        at % 2 === 0 && /^(?:etag|last-modified|x-a)$/i.test(name) ? `${name.toLowerCase()}: ${rawHeaders[at + 1]}` : [],
      )
      .sort();
  };
  t.deepEqual(await ask('/'), ['etag: "own"', 'last-modified: now', 'x-a: backend']);
  t.deepEqual(await ask('/cleared?name=Last-Modified'), ['x-a: backend']);
  t.deepEqual(await ask('/own'), ['etag: "two"']);
});

test('$sent_http_NAME joins the fields of one name', async (t) => {
  const backend = await httpBackend(t, (_, response) => {
    response.setHeader('link', ['<a>', '<b>']);
    response.end('ok');
  });
  const srv = await startSrv(
    t,
    `events {} http { log_format sent escape=none '$sent_http_link|$sent_http_x_a|$sent_http_x_none';
      server { listen 127.0.0.1:%%PORT_web%%; access_log logs/sent.log sent;
        location / { proxy_pass http://127.0.0.1:${backend.port}; add_header X-A 1; add_header Link <c>; add_header X-A 2; } } }`,
  );
  await get(srv.port('web'), '/');
  await srv.waitForLog(/\n/, 'logs/sent.log');
  t.is(srv.read('logs/sent.log'), '<a>, <b>, <c>|1, 2|\n');
});
