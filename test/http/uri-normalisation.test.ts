import test from 'ava';
import { exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';

test('paths are decoded once, cleaned, and never leave the root', async (t) => {
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_web%%; location / { return 200 "$uri"; } location /secret { return 200 secret; } }
      server { listen 127.0.0.1:%%PORT_raw%%; merge_slashes off; location / { return 200 "$uri"; } }
    }`,
  );
  const ask = async (target: string, port = 'web'): Promise<string> => {
    const received = await exchange(t, srv.port(port), `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    return received.startsWith('HTTP/1.1 200') ? (received.split('\r\n\r\n')[1] ?? '') : received.slice(9, 12);
  };
  const cases: Readonly<Record<string, string>> = {
    '/a%20b': '/a b',
    '/%41%62': '/Ab',
    '/%2541': '/%41',
    '/a%3fb?c': '/a?b',
    '/a%23b#c': '/a#b',
    '/a//b///c': '/a/b/c',
    '/a/./b/.': '/a/b/',
    '/a/b/../c': '/a/c',
    '/a/b/..': '/a/',
    '/a/..': '/',
    '/a/.../b': '/a/.../b',
    '/a/.b/..c': '/a/.b/..c',
    '/x/../secret': 'secret',
    '/x/%2e%2e/secret': 'secret',
    '/x%2f..%2fsecret': 'secret',
    '//secret': 'secret',
    '/./secret': 'secret',
    '/..': '400',
    '/a/../..': '400',
    '/%2e%2e/': '400',
    '/..%2f': '400',
    '/%': '400',
    '/%4': '400',
    '/%zz': '400',
    '/a%00b': '400',
  };
  for (const [target, uri] of Object.entries(cases)) t.is(await ask(target), uri, target);
  t.is(await ask('/a//b', 'raw'), '/a//b', 'merge_slashes off');
  t.is(await ask('/a//../b', 'raw'), '/a/b');
});
