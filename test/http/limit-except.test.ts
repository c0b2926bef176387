import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('limit_except closes a location to other methods', async (t) => {
  const backend = await httpBackend(t, (request, response) => response.end(`${request.method} ${request.url}`));
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${backend.port}; limit_except GET { deny all; } }
        location /post { proxy_pass http://127.0.0.1:${backend.port}; limit_except get POST { deny all; } }
        location /other {
          proxy_pass http://127.0.0.1:${backend.port};
          limit_except GET { allow 127.0.0.1; deny all; }
        }
        location /elsewhere {
          proxy_pass http://127.0.0.1:${backend.port};
          limit_except GET { proxy_pass http://127.0.0.1:${backend.port}; }
        }
      }
    }`,
  );
  const answer = async (method: string, path: string): Promise<[number, string]> => {
    const { status, body } = await get(srv.port('web'), path, { method });
    return [status, status === 200 ? body : ''];
  };
  t.deepEqual(await answer('GET', '/a'), [200, 'GET /a']);
  t.deepEqual(await answer('HEAD', '/a'), [200, ''], 'GET includes HEAD');
  t.deepEqual(await answer('POST', '/a'), [403, '']);
  t.deepEqual(await answer('OPTIONS', '/a'), [403, '']);
  t.deepEqual(await answer('POST', '/post'), [200, 'POST /post']);
  t.deepEqual(await answer('DELETE', '/post'), [403, '']);
  t.deepEqual(await answer('POST', '/other'), [200, 'POST /other'], 'what the rules allow is answered as in the location');
  t.deepEqual(await answer('PUT', '/elsewhere'), [200, 'PUT /elsewhere']);
});

test('limit_except rejects what is not a method', async (t) => {
  const run = await check(t, 'events {} http { server { location / { limit_except GET FETCH { deny all; } return 200; } } }');
  t.regex(run.stderr, /\[emerg\] invalid method "FETCH" in /);
});
