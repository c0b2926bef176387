import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { connectRaw, get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

test('an error page that is proxied gets the body of the request', async (t) => {
  const failing = await httpBackend(t, (request, response) => {
    request.resume().once('end', () => response.writeHead(503).end());
  });
  const early = await httpBackend(t, (_, response) => response.writeHead(503).end());
  const backend = await httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) => response.end(`${request.method} ${request.url} ${body.length} ${body.slice(-3)}`));
  });
  const dead = await freePort(t);
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        proxy_intercept_errors on;
        location /dead { error_page 502 = @backend; proxy_pass http://127.0.0.1:${dead}; }
        location /dead-uri { error_page 502 = /in/; proxy_pass http://127.0.0.1:${dead}; }
        location /dead-streamed { error_page 502 = @backend; proxy_request_buffering off; proxy_pass http://127.0.0.1:${dead}; }
        location /dead-twice { error_page 502 = @dead; recursive_error_pages on; proxy_pass http://127.0.0.1:${dead}; }
        location /failing { error_page 503 = @backend; proxy_pass http://127.0.0.1:${failing.port}; }
        location /failing-streamed {
          error_page 503 = @backend;
          proxy_request_buffering off;
          proxy_pass http://127.0.0.1:${failing.port};
        }
        location /failing-here { error_page 503 = @here; proxy_pass http://127.0.0.1:${failing.port}; }
        location /early { error_page 503 = @backend; proxy_request_buffering off; proxy_pass http://127.0.0.1:${early.port}; }
        location /unread { error_page 404 = /in/; return 404; }
        location /in/ { proxy_pass http://127.0.0.1:${backend.port}; }
        location @dead { recursive_error_pages on; error_page 502 = @backend; proxy_pass http://127.0.0.1:${dead}; }
        location @here { return 200 here; }
        location @backend { proxy_pass http://127.0.0.1:${backend.port}; }
      }
    }`,
  );
  const port = srv.port('web');
  const post = async (path: string, length: number, headers = {}): Promise<string> => {
    const { status, body } = await get(port, path, { method: 'POST', headers, body: `${'x'.repeat(length - 3)}end` });
    return `${status} ${status === 200 ? body : 'error'}`;
  };
  for (const length of [3, 30_000, 300_000]) {
    for (const headers of [{ 'content-length': length }, { 'transfer-encoding': 'chunked' }]) {
      t.is(await post('/dead', length, headers), `200 POST /dead ${length} end`);
      t.is(await post('/dead-uri', length, headers), `200 GET /in/ ${length} end`, 'a URI is asked for with GET');
      t.is(await post('/dead-streamed', length, headers), `200 POST /dead-streamed ${length} end`);
      t.is(await post('/dead-twice', length, headers), `200 POST /dead-twice ${length} end`);
      t.is(await post('/unread', length, headers), `200 GET /in/ ${length} end`);
      t.is(await post('/failing-here', length, headers), '200 here');
    }
  }
  for (const length of [3, 900_000]) t.is(await post('/failing', length), `200 POST /failing ${length} end`);
  t.is(await post('/failing-streamed', 3), '200 POST /failing-streamed 3 end');
  const before = backend.requests.length;
  t.is(await post('/failing-streamed', 900_000), '503 error', 'it was streamed');
  t.is(backend.requests.length, before, 'nobody gets a request without its body');
  await srv.waitForLog(/\[error\].* request body is no longer available: it was streamed to an earlier upstream or reader/);

  const slow = await connectRaw(t, port);
  slow.send('POST /early HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 6\r\n\r\nabc');
  await waitFor('the request at the member', () => early.requests.length > 0);
  slow.send('end');
  t.regex(await slow.receiveAll(), /POST \/early 6 end/, 'the answer came before the body had come whole');
});
