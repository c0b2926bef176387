import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const server = shared(async (scope) => {
  const backend = await httpBackend(scope, (request, response) => {
    const { 'x-refresh': refresh } = request.headers;
    if (refresh !== undefined) {
      response.writeHead(200, { refresh: String(refresh) }).end();
      return;
    }
    const status = /\d+$/.exec(request.url ?? '')?.[0] ?? '302';
    response.writeHead(Number(status), { location: String(request.headers['x-location']) });
    response.end();
  });
  const to = `http://127.0.0.1:${backend.port}`;
  const srv = await startSrv(
    scope,
    `events {}
    http {
      upstream shop { server 127.0.0.1:${backend.port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        server_name s;
        location / { proxy_pass ${to}; }
        location /uri/ { proxy_pass ${to}/base/; }
        location /shop/ { proxy_pass http://shop/base/; }
        location /off/ { proxy_pass ${to}/base/; proxy_redirect off; }
        location /lines/ {
          proxy_pass ${to}/base/;
          proxy_redirect http://first.example/ /one/;
          proxy_redirect http://second.example $scheme://$http_host/two;
          proxy_redirect default;
        }
        location /regex/ {
          proxy_pass ${to};
          proxy_redirect ~^http://([^.]+)\\.example(?<rest>/.*)$ /$1$rest;
          proxy_redirect ~*^https://OTHER /other;
        }
        location /inherited/ { proxy_pass ${to}; proxy_redirect http://a/ http://b/; location /inherited/in/ { proxy_pass ${to}; } }
      }
    }`,
  );
  return { to, port: srv.port('web') };
});

/** MEMBER and HERE in the cases stand for the URLs of the member and of the server. */
async function filled(text: string): Promise<string> {
  const { to, port } = await server();
  return text.replace('MEMBER', to).replace('HERE', `http://h.example:${port}`);
}

for (const [what, path, location, expected] of [
  ['by default the address of the member', '/', 'MEMBER/a', 'HERE/a'],
  ['of 201', '/201', 'MEMBER/a', 'HERE/a'],
  ['of 202', '/202', 'MEMBER/a', 'HERE/a'],
  ['of 200', '/200', 'MEMBER/a', 'HERE/a'],
  ['of 404', '/404', 'MEMBER/a', 'HERE/a'],
  ['of 503', '/503', 'MEMBER/a', 'HERE/a'],
  ['not a relative one', '/', '/relative', '/relative'],
  ['not one of another host', '/', 'http://other.example/', 'http://other.example/'],
  ['by default the URI of proxy_pass', '/uri/', 'MEMBER/base/a', 'HERE/uri/a'],
  ['not one outside of that', '/uri/', 'MEMBER/a', 'MEMBER/a'],
  ['by default the name of an upstream', '/shop/', 'http://shop/base/a', 'HERE/shop/a'],
  ['not with off', '/off/', 'MEMBER/base/a', 'MEMBER/base/a'],
  ['the first of several lines', '/lines/', 'http://first.example/a', 'HERE/one/a'],
  ['a line with variables', '/lines/', 'http://second.example/a', 'HERE/two/a'],
  ['the word default among lines', '/lines/', 'MEMBER/base/a', 'HERE/lines/a'],
  ['a regular expression', '/regex/', 'http://www.example/a?b', 'HERE/www/a?b'],
  ['a regular expression in any case', '/regex/', 'https://other.example/a', 'HERE/other'],
  ['not by default beside lines', '/regex/', 'MEMBER/a', 'MEMBER/a'],
  ['lines of the location around', '/inherited/in/', 'http://a/x', 'http://b/x'],
] as const) {
  test(`proxy_redirect rewrites Location: ${what}`, async (t) => {
    const { port } = await server();
    const { headers } = await get(port, path, { headers: { host: `h.example:${port}`, 'x-location': await filled(location) } });
    t.is(headers.location, await filled(expected));
  });
}

for (const [what, path, value, expected] of [
  ['the URL', '/uri/', '0; URL=MEMBER/base/a', '0; URL=/uri/a'],
  ['by a line', '/lines/', '5;url=http://first.example/a', '5;url=/one/a'],
  ['not with off', '/off/', '0;url=MEMBER/base/a', '0;url=MEMBER/base/a'],
  ['not one without a URL', '/uri/', '5', '5'],
] as const) {
  test(`proxy_redirect rewrites Refresh: ${what}`, async (t) => {
    const { headers } = await get((await server()).port, path, { headers: { 'x-refresh': await filled(value) } });
    t.is(headers['refresh'], await filled(expected));
  });
}
