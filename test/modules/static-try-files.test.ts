import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

const CASES: readonly (readonly [path: string, status: number, body: string])[] = [
  ['/app/page', 200, 'page'],
  ['/app/folder', 200, 'index'],
  ['/app/missing?a=b', 200, 'front a=b&from=/app/missing'],
  ['/named/missing', 200, 'named /named/missing'],
  ['/code/missing', 410, ''],
  ['/code/page.html', 200, 'page below code'],
  ['/al/page', 200, 'page'],
  ['/constant/missing', 200, 'page'],
  ['/twice/missing', 404, ''],
  ['/re/page.html', 200, 'page'],
  ['/re/folder', 200, 'index'],
  ['/re/missing', 404, ''],
  ['/tried/page', 200, 'page'],
  ['/tried/missing', 200, 'other'],
  ['/elsewhere', 200, 'by the server'],
];

test('try_files takes the first file that exists, else the last word', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        try_files /server.txt =404;
        location /app/ { try_files $uri $uri.html $uri/ /front?$args&from=$uri; }
        location /front { return 200 "front $args"; }
        location /named/ { try_files $uri @named; }
        location @named { return 200 "named $uri"; }
        location /code/ { try_files $uri =410; }
        location /constant/ { alias html/app/; try_files $uri page.html =404; }
        location /twice/ { alias html/app/; try_files $uri /twice/page.html =404; }
        location ~ ^/re/(.*)$ { alias html/app/$1; try_files "" /index.html =404; }
        location ~ ^/tried/(.*)$ { alias html/app; try_files /$1.html /other.txt =404; }
        location /al/ { alias html/app/; try_files $uri.html =404; }
      }
    }`,
    {
      files: {
        'html/server.txt': 'by the server',
        'html/app/page.html': 'page',
        'html/app/other.txt': 'other',
        'html/app/folder/index.html': 'index',
        'html/code/page.html': 'page below code',
      },
    },
  );
  for (const [path, status, body] of CASES) {
    const response = await get(srv.port('web'), path);
    const { location } = response.headers;
    const final = location === undefined ? response : await get(srv.port('web'), new URL(location).pathname);
    t.is(final.status, status, path);
    if (status === 200) t.is(final.body, body, path);
  }
});

test('a word with a slash at its end is for folders, one without for files', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location /alias/ { alias html/app/; try_files $uri.html /folder/ =404; }
      location /root/ { try_files $uri.html /app/folder/ =404; }
      location /app/ { try_files $uri $uri/ =404; }
      location /file/ { alias html/; try_files $uri =404; } } }`,
    { files: { 'html/app/folder/index.html': 'index', 'html/app/page': 'page' } },
  );
  const ask = async (path: string): Promise<string> => {
    const { status, headers, body } = await get(srv.port('web'), path);
    return `${status} ${headers.location === undefined ? (status === 200 ? body : '') : new URL(headers.location).pathname}`;
  };
  // As from nginx, which merges the slashes when the client follows.
  t.is(await ask('/alias/x'), '301 /alias//folder/');
  t.is(await ask('/root/x'), '301 /app/folder/');
  t.is(await ask('/app/folder'), '301 /app/folder/');
  t.is(await ask('/app/folder/'), '200 index');
  t.is(await ask('/app/page'), '200 page');
  t.is(await ask('/app/page/'), '404 ');
  t.is(await ask('/file/app/'), '404 ');
});

test('a code that is none is rejected', async (t) => {
  const { stderr, code } = await check(t, 'events {} http { server { try_files $uri =x; } }');
  t.is(code, 1);
  t.regex(stderr, /invalid code "x"/);
});
