import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('internal locations are for internal redirects only', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /hidden { internal; return 200 "hidden for $request_uri"; }
        location /show { error_page 418 = /hidden; return 418; }
        location /page { error_page 404 /hidden; return 404; }
      }
    }`,
  );
  const port = srv.port('web');
  t.is((await get(port, '/hidden')).status, 404);
  t.is((await get(port, '/show')).body, 'hidden for /show');
  const page = await get(port, '/page');
  t.is(page.status, 404);
  t.is(page.body, 'hidden for /page');
});

test('redirects that go round in a circle end in 500', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      recursive_error_pages on;
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /a { error_page 418 = /b; return 418; }
        location /b { error_page 418 = /a; return 418; }
        location / { return 200 alive; }
      }
    }`,
  );
  t.is((await get(srv.port('web'), '/a')).status, 500);
  await srv.waitForLog(/rewrite or internal redirection cycle/);
  t.is((await get(srv.port('web'), '/')).body, 'alive');
});
