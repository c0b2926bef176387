/** Settings and handlers of a server are active for a URI that no location matches. */
import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('access rules of a server hold without a location', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_closed%%; deny all; location /open { allow all; return 200 open; } }
      server { listen 127.0.0.1:%%PORT_page%%; deny all; error_page 403 /why; location = /why { allow all; return 200 because; } }
      server { listen 127.0.0.1:%%PORT_bare%%; }
    }`,
  );
  t.is((await get(srv.port('closed'), '/any')).status, 403);
  t.is((await get(srv.port('closed'), '/open')).body, 'open');
  const page = await get(srv.port('page'), '/any');
  t.deepEqual([page.status, page.body], [403, 'because']);
  t.is((await get(srv.port('bare'), '/any')).status, 404);
});

test('content of a server responds where no location matches', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_web%%; stub_status; add_header X-From server; location /own { return 200 own; } }
    }`,
  );
  const status = await get(srv.port('web'), '/');
  t.regex(status.body, /^Active connections: \d+/);
  t.is(status.headers['x-from'], 'server');
  t.is((await get(srv.port('web'), '/own')).body, 'own');
});
