import test from 'ava';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('nested locations and the regular expressions around them', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { return 200 root; }
        location /a/ {
          add_header X-Outer a;
          return 200 a;
          location /a/b/ { return 200 b; location /a/b/c { return 200 c; } }
          location = /a/exact.php { return 200 exact; }
          location ~ ^/a/inner { return 200 inner; }
        }
        location ^~ /quiet/ { return 200 quiet; location /quiet/in/ { return 200 quiet-in; } }
        location /loud/ { return 200 loud; location ^~ /loud/in/ { return 200 loud-in; } }
        location ~ \\.php$ { return 200 php; }
        location ~ /re/ { return 200 re; location /re/in { return 200 re-in; } location ~ x$ { return 200 re-x; } }
      }
    }`,
  );
  const cases: Readonly<Record<string, string>> = {
    '/a/': 'a',
    '/a/b/': 'b',
    '/a/b/x': 'b',
    '/a/b/c': 'c',
    // A prefix, however deep, does not keep the expressions of the outer levels away; an exact one and an expression do.
    '/a/b/x.php': 'php',
    '/a/exact.php': 'exact',
    '/a/inner.php': 'inner',
    '/quiet/x.php': 'quiet',
    '/quiet/in/x.php': 'quiet-in',
    '/loud/in/x.php': 'php',
    '/re/a': 're',
    '/re/in/a': 're-in',
    '/re/ax': 're-x',
  };
  for (const [path, location] of Object.entries(cases)) t.is((await get(srv.port('web'), path)).body, location, path);
  t.is((await get(srv.port('web'), '/a/b/')).headers['x-outer'], 'a', 'settings are inherited');
});
