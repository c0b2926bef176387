import test from 'ava';
import { exchange } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { echoBackend } from './echo-backend.js';

test('the target that the member gets', async (t) => {
  const { port } = await echoBackend(t);
  const srv = await startSrv(
    t,
    `events {}
    http {
      upstream group { server 127.0.0.1:${port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /uri/ { proxy_pass http://127.0.0.1:${port}/base/; }
        location /bare/ { proxy_pass http://127.0.0.1:${port}/base; }
        location /root/ { proxy_pass http://group/; }
        location = /exact { proxy_pass http://group/other?fixed=1; }
        location ~ ^/regex/ { proxy_pass http://group; }
        location /whole/ { proxy_pass http://127.0.0.1:${port}$request_uri; }
        location /decoded/ { proxy_pass http://127.0.0.1:${port}$uri; }
        location /address/ { proxy_pass http://$server_addr:${port}; }
        location /name/ { proxy_pass http://$arg_to; }
        location /scheme/ { proxy_pass $scheme://127.0.0.1:${port}; }
        location /anything/ { proxy_pass $arg_to; }
        location /fixed/ { proxy_pass http://$server_addr:${port}/fixed?uri=$uri; }
        location /query/ { proxy_pass http://group?only=$arg_a; }
        location /method { proxy_pass http://group; proxy_method PATCH; }
        location /method-of { proxy_pass http://group; proxy_method $arg_m; }
        location /old { proxy_pass http://group; proxy_http_version 1.0; }
        location /outer/ { proxy_pass http://group/o/; location /outer/inner/ { proxy_pass http://group/i/; } }
      }
    }`,
  );
  const ask = async (target: string): Promise<string> => {
    const received = await exchange(t, srv.port('web'), `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    const [head = '', body = ''] = received.split('\r\n\r\n');
    return head.startsWith('HTTP/1.1 200') ? (body.split('\r\n')[0] ?? '') : head.slice(9, 12);
  };
  const targets: Readonly<Record<string, string>> = {
    '/': '/',
    '/a/b?c=d&e': '/a/b?c=d&e',
    '/a%2fb/%41%20': '/a%2fb/%41%20',
    '/a//b/../c/./d': '/a//b/../c/./d',
    '/a?': '/a?',
    '/a\xe9': '/a\xe9',
    'http://b.example/abs?x': '/abs?x',
    'http://b.example': '/',
    'http://b.example?x=1': '/?x=1',
    '/uri/': '/base/',
    '/uri/a?b': '/base/a?b',
    '/uri/a%20b%3f%25': '/base/a%20b%3F%25',
    '/uri//a/../b': '/base/b',
    '/bare/a': '/basea',
    '/root/a': '/a',
    '/exact?a=b': '/other?fixed=1?a=b',
    '/regex/%2f?x': '/regex/%2f?x',
    '/whole/a%20b?c': '/whole/a%20b?c',
    '/decoded/a%20b%0d%0aX:1?c': '/decoded/a%20b%0D%0AX:1',
    '/address/a%20b?c': '/address/a%20b?c',
    '/name/x?to=group': '/name/x?to=group',
    '/scheme/a?b': '/scheme/a?b',
    '/anything/?to=http://group/new': '/new',
    '/anything/?to=HTTP://group': '/anything/?to=HTTP://group',
    '/fixed/x%20y': '/fixed?uri=/fixed/x%20y',
    '/query/?a=1': '/?only=1',
    '/outer/x': '/o/x',
    '/outer/inner/x': '/i/x',
  };
  for (const [target, sent] of Object.entries(targets)) t.is(await ask(target), `GET ${sent} HTTP/1.1`, target);
  t.is(await ask('/method'), 'PATCH /method HTTP/1.1');
  t.is(await ask('/method-of?m=PURGE'), 'PURGE /method-of?m=PURGE HTTP/1.1');
  t.is(await ask('/method-of?m=G,T'), '500', 'a method that is none');
  t.is(await ask('/old'), 'GET /old HTTP/1.0');
  t.is(await ask('/name/?to=nobody.invalid'), '502');
  t.is(await ask('/name/?to=[bad'), '500');
  t.is(await ask('/anything/?to=ftp://group'), '500');
});
