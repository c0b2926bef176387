import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

/** The authorization service responds as the field X-Want says, and names the user in a field. */
const site = shared(async (scope) => {
  const auth = await httpBackend(scope, (request, response) => {
    const status = Number(request.headers['x-want'] ?? 200);
    response.writeHead(status, {
      'X-User': 'ada',
      'X-Asked': `${request.method} ${request.url}`,
      ...(status === 401 ? { 'WWW-Authenticate': 'Bearer realm="test"' } : {}),
    });
    response.end('a body that nobody gets');
  });
  const page = await httpBackend(scope, (request, response) => {
    let body = '';
    request.on('data', (piece: Buffer) => (body += piece.toString()));
    request.on('end', () => response.end(`page for ${String(request.headers['x-user'])} ${body}`));
  });
  return startSrv(
    scope,
    `error_log logs/error.log info; events {}
    http {
      log_format line "$request_method $uri $status";
      access_log logs/access.log line;
      server { listen 127.0.0.1:%%PORT_web%%;
        location = /auth { internal; proxy_pass http://127.0.0.1:${auth.port}/check; }
        location = /logged { internal; log_subrequest on; return 204; }
        auth_request /auth;
        auth_request_set $user $upstream_http_x_user;
        auth_request_set $asked $upstream_http_x_asked;
        location / { proxy_set_header X-User $user; proxy_pass http://127.0.0.1:${page.port}; add_header X-Asked $asked always; }
        location /open { auth_request off; proxy_pass http://127.0.0.1:${page.port}; }
        location /any { satisfy any; allow 127.0.0.1; proxy_pass http://127.0.0.1:${page.port}; }
        location /anyone { satisfy any; deny all; proxy_pass http://127.0.0.1:${page.port}; }
        location /login { error_page 401 = @login; proxy_pass http://127.0.0.1:${page.port}; }
        location @login { auth_request off; return 302 /log-in; }
        location /logs { auth_request /logged; proxy_pass http://127.0.0.1:${page.port}; }
        location /missing { auth_request /nowhere; proxy_pass http://127.0.0.1:${page.port}; }
        location /nowhere { return 404; }
      }
    }`,
  );
});

test('2xx allows, and auth_request_set has what the subrequest got', async (t) => {
  const srv = await site();
  const response = await get(srv.port('web'), '/a?b=c', { headers: { 'X-Want': '204' } });
  t.is(response.status, 200);
  t.is(response.body, 'page for ada ');
  t.is(response.headers['x-asked'], 'GET /check');
});

test('a request body goes to the page, not to the subrequest', async (t) => {
  const srv = await site();
  const response = await get(srv.port('web'), '/a', { method: 'POST', body: 'the form' });
  t.is(response.body, 'page for ada the form');
  t.is(response.headers['x-asked'], 'GET /check');
});

test('401 and 403 deny; 401 with the challenge of the subrequest', async (t) => {
  const srv = await site();
  const denied = await get(srv.port('web'), '/a', { headers: { 'X-Want': '401' } });
  t.is(denied.status, 401);
  t.is(denied.headers['www-authenticate'], 'Bearer realm="test"');
  t.is(denied.headers['x-asked'], 'GET /check');
  const forbidden = await get(srv.port('web'), '/a', { headers: { 'X-Want': '403' } });
  t.is(forbidden.status, 403);
  t.is(forbidden.headers['www-authenticate'], undefined);
  t.is((await get(srv.port('web'), '/open', { headers: { 'X-Want': '403' } })).status, 200);
});

test('any other status is a 500 and logged', async (t) => {
  const srv = await site();
  t.is((await get(srv.port('web'), '/missing')).status, 500);
  await srv.waitForLog(/\[error\] .*auth request unexpected status: 404 while sending to client, client: 127\.0\.0\.1/);
  t.is((await get(srv.port('web'), '/a', { headers: { 'X-Want': '302' } })).status, 500);
});

test('it is one of several under satisfy any, and error_page takes its 401', async (t) => {
  const srv = await site();
  const deny = { headers: { 'X-Want': '401' } };
  t.is((await get(srv.port('web'), '/any', deny)).status, 200, 'the address is allowed');
  t.is((await get(srv.port('web'), '/anyone')).status, 200, 'the subrequest allows');
  t.is((await get(srv.port('web'), '/anyone', deny)).status, 401);
  const login = await get(srv.port('web'), '/login', deny);
  t.is(login.status, 302);
  t.regex(login.headers.location ?? '', /\/log-in$/);
});

test('subrequests are in the access log where log_subrequest is on', async (t) => {
  const srv = await site();
  await get(srv.port('web'), '/alone');
  await get(srv.port('web'), '/logs');
  await srv.waitForLog(/GET \/logs 200/, 'logs/access.log');
  const lines = srv.read('logs/access.log').trim().split('\n');
  const ofThese = lines.filter((line) => !/^\w+ \/(a|open|missing|any|anyone|login) /.test(line));
  t.deepEqual(ofThese.sort(), ['GET /alone 200', 'GET /logged 204', 'GET /logs 200']);
});
