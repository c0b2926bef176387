import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('the location is chosen as nginx chooses it', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 root; }
        location = /exact { return 200 exact; }
        location /a { return 200 a; }
        location /a/long { return 200 longest; }
        location ^~ /static/ { return 200 static; }
        location ~ \\.php$ { return 200 php; }
        location ~ ^/a/first { return 200 first; }
        location ~ ^/a/fir { return 200 second; }
        location ~* \\.png$ { return 200 png; }
        location "/with space/" { return 200 space; }
        location /ünïcode { return 200 unicode; }
      }
    }`,
  );
  const cases: Readonly<Record<string, string>> = {
    '/': 'root',
    '/other': 'root',
    '/exact': 'exact',
    '/exact/': 'root',
    '/exactly': 'root',
    '/a': 'a',
    '/abc': 'a',
    '/A': 'root',
    '/a/lon': 'a',
    '/a/longer': 'longest',
    '/a/long/x.php': 'php',
    '/static/x.php': 'static',
    '/static': 'root',
    '/a/first': 'first',
    '/a/fir': 'second',
    '/x.PHP': 'root',
    '/x.PNG': 'png',
    '/x.png?.php': 'png',
    '/with%20space/': 'space',
    '/%C3%BCn%C3%AFcode': 'unicode',
    '/%61': 'a',
    '//a': 'a',
    '/x/../a': 'a',
    '/./a': 'a',
  };
  for (const [path, location] of Object.entries(cases)) t.is((await get(srv.port('web'), path)).body, location, path);
});

test('a server without a matching location responds with 404', async (t) => {
  const srv = await startSrv(t, `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location /a { return 200 a; } } }`);
  t.is((await get(srv.port('web'), '/b')).status, 404);
  t.is((await get(srv.port('web'), '/a')).status, 200);
});
