import test from 'ava';
import { readRoot } from '../docs/source-files.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('types and default_type: the content type is that of the extension of $uri', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      default_type a/http;
      server {
        listen 127.0.0.1:%%PORT_builtin%%;
        location / { return 200 ok; }
        location = /moved.HTML { return 201; }
        location = /error { error_page 404 /error.html; return 404; }
        location = /error.html { return 200 page; }
      }
      server {
        listen 127.0.0.1:%%PORT_own%%;
        types { text/css css CSS2; }
        types { include types.conf; }
        default_type a/server;
        location / { return 200 ok; }
        location /none/ { types { } default_type a/none; return 200 ok; }
        location /shipped/ { include mime.types; return 200 ok; }
        location /redirected { error_page 404 = /a.css; return 404; }
      }
    }`,
    { files: { 'conf/types.conf': 'a/js js;' } },
  );
  const type = async (name: string, path: string): Promise<string | undefined> => (await get(srv.port(name), path)).headers['content-type'];
  for (const [path, expected] of [
    ['/a.html', 'text/html'],
    ['/a/b.c.HTML?d.gif', 'text/html'],
    ['/a%2egif', 'image/gif'],
    ['/a.jpg', 'image/jpeg'],
    ['/a.css', 'a/http'],
    ['/a', 'a/http'],
    ['/', 'a/http'],
    ['/.html', 'a/http'],
    ['/a/.html', 'a/http'],
    ['/a.html/b', 'a/http'],
    ['/a.', 'a/http'],
    ['/moved.HTML', 'text/html'],
    ['/error', 'text/html'],
  ] as const)
    t.is(await type('builtin', path), expected, path);
  for (const [path, expected] of [
    ['/a.css', 'text/css'],
    ['/a.Css2', 'text/css'],
    ['/shipped/a.css', 'text/css'],
    ['/shipped/a.js', 'application/javascript'],
    ['/shipped/a.woff2', 'font/woff2'],
    ['/shipped/a.none', 'a/server'],
    ['/a.js', 'a/js'],
    ['/a.html', 'a/server'],
    ['/none/a.css', 'a/none'],
    ['/redirected', 'text/css'],
  ] as const)
    t.is(await type('own', path), expected, path);
});

test('the shipped mime.types names each extension once', (t) => {
  const extensions = [...readRoot('conf/mime.types').matchAll(/^ +[\w.+/-]+ +(.*);$/gm)].flatMap(([, words = '']) => words.split(' '));
  t.true(extensions.length > 150);
  t.deepEqual(new Set(extensions).size, extensions.length);
});
