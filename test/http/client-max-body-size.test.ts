import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('client_max_body_size, whatever tells the length', async (t) => {
  const backend = await httpBackend(t, (request, response) => void bodyOf(request).then((body) => response.end(`got ${body.length}`)));
  const srv = await startSrv(
    t,
    `events {}
    http {
      client_max_body_size 100;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; }
        location /stream { proxy_pass http://127.0.0.1:${backend.port}; proxy_request_buffering off; }
        location /any { client_max_body_size 0; proxy_pass http://127.0.0.1:${backend.port}; }
        location /more { client_max_body_size 1k; proxy_pass http://127.0.0.1:${backend.port}; }
        location /here { return 200 here; }
        location /named { client_max_body_size 0; error_page 404 = @few; return 404; }
        location @few { client_max_body_size 10; proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  const post = async (path: string, length: number, chunked = false): Promise<string> => {
    const answer = await get(srv.port('web'), path, {
      method: 'POST',
      body: 'x'.repeat(length),
      headers: chunked ? { 'transfer-encoding': 'chunked' } : {},
    });
    return answer.status === 200 ? answer.body : String(answer.status);
  };
  for (const chunked of [false, true]) {
    for (const path of ['/', '/stream']) {
      t.is(await post(path, 100, chunked), 'got 100');
      t.is(await post(path, 101, chunked), '413');
    }
    t.is(await post('/any', 200_000, chunked), 'got 200000');
    t.is(await post('/more', 1024, chunked), 'got 1024');
    t.is(await post('/more', 1025, chunked), '413');
    if (chunked) t.is(await post('/named', 11, chunked), '413', 'the limit of a named location');
    t.is(await post('/named', 10, chunked), 'got 10');
    t.is(await post('/here', 101, chunked), '413', 'also where nobody reads it');
  }
  t.regex(
    await exchange(t, srv.port('web'), 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9007199254740991\r\n\r\n'),
    /^HTTP\/1\.1 413 [^]*Connection: close/,
    'refused before it is sent',
  );
  t.is(backend.requests.filter(({ url, complete }) => complete && url !== '/any' && url !== '/named' && url !== '/more').length, 4);
});

test('what is left of a rejected body is read for a while, so that the response arrives', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { client_max_body_size 10; server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 ok; } } }`,
  );
  const length = 3_000_000;
  const received = await exchange(
    t,
    srv.port('web'),
    `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`,
  );
  t.regex(received, /^HTTP\/1\.1 413 [^]*<\/html>\r\n$/);
});
