import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const server = shared((scope) =>
  startSrv(
    scope,
    `events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /bare { return 200; }
        location /text { return 200 "uri=$uri args=$args\\n"; }
        location /first { return 200 one; return 201 two; }
        location /empty { return 200 ""; }
        location /ünïcode { return 200 "grüße $uri"; }
        location /type { default_type application/json; return 200 '{"a":1}'; }
        location /created { return 201 made; }
        location /nothing { return 204; }
        location /unchanged { return 304; }
        location /error { return 404; }
        location /error-text { error_page 404 /text; return 404 "own text"; }
        location /page { error_page 403 = /text; return 403; }
        location /unknown { return 599; }
        location /url { return http://other.example/$request_method; }
        location /scheme { return $scheme://other.example/; }
        location /301 { return 301 /moved?$args; }
        location /302 { return 302 http://other.example/; }
        location /303 { return 303 /a; }
        location /307 { return 307 /a; }
        location /308 { return 308 /a; }
        location /silent { return 444; }
        location /gone { return 499; }
        location /short { return 7; }
      }
      server { listen 127.0.0.1:%%PORT_whole%%; return 200 "server $uri"; location / { return 200 location; } }
    }`,
  ),
);

/** Status, content type, Location and body. */
async function ask(path: string): Promise<string> {
  const port = (await server()).port('web');
  const { status, headers, body } = await get(port, path);
  const location = headers.location?.replace(String(port), 'PORT');
  return [status, headers['content-type'], location, status < 400 && status > 300 ? '' : body]
    .filter((part) => part !== undefined)
    .join(' | ');
}

for (const [what, path, expected] of [
  ['a status alone', '/bare', '200 | text/plain | '],
  ['a text with variables', '/text?a=b', '200 | text/plain | uri=/text args=a=b\n'],
  ['the first of two', '/first', '200 | text/plain | one'],
  ['an empty text', '/empty', '200 | text/plain | '],
  ['a text beyond ASCII', '/%C3%BCn%C3%AFcode', '200 | text/plain | grüße /ünïcode'],
  ['default_type', '/type', '200 | application/json | {"a":1}'],
  ['201', '/created', '201 | text/plain | made'],
  ['204', '/nothing', '204 | '],
  ['304', '/unchanged', '304 | text/plain | '],
  ['a text with an error status, which has no error_page', '/error-text', '404 | text/plain | own text'],
  ['an error_page', '/page', '200 | text/plain | uri=/text args=\n'],
  ['a status that nobody knows, without a page', '/unknown', '599 | '],
  ['a URL alone', '/url', '302 | text/html | http://other.example/GET | '],
  ['a URL with $scheme', '/scheme', '302 | text/html | http://other.example/ | '],
  ['301 to a path', '/301?x=y', '301 | text/html | http://127.0.0.1:PORT/moved?x=y | '],
  ['302 to a URL', '/302', '302 | text/html | http://other.example/ | '],
  ['303', '/303', '303 | text/html | http://127.0.0.1:PORT/a | '],
  ['307', '/307', '307 | text/html | http://127.0.0.1:PORT/a | '],
  ['308', '/308', '308 | text/html | http://127.0.0.1:PORT/a | '],
] as const) {
  test(`return: ${what}`, async (t) => t.is(await ask(path), expected));
}

test('return: an error status has a page', async (t) => t.regex(await ask('/error'), /^404 \| text\/html \| <html>[^]*404 Not Found/));

for (const path of ['/silent', '/gone'])
  test(`return 444 and 499 close the connection: ${path}`, async (t) => {
    t.is(await exchange(t, (await server()).port('web'), `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`), '');
  });

test('return: a short status has three digits', async (t) => {
  t.regex(await exchange(t, (await server()).port('web'), 'GET /short HTTP/1.0\r\n\r\n'), /^HTTP\/1\.1 007 \r\n/);
});

test('return of a server comes before any location', async (t) => {
  t.is((await get((await server()).port('whole'), '/x')).body, 'server /x');
});

test('a line end in a value cannot make a header of its own', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location /a { return 302 http://x.example$uri; } location / { return 302 /$arg_to; } } }`,
  );
  const answer = await get(srv.port('web'), '/a%0d%0aSet-Cookie:%20evil=1');
  t.is(answer.status, 302);
  t.is(answer.headers['set-cookie'], undefined);
  t.is(answer.headers.location, 'http://x.example/a%0D%0ASet-Cookie:%20evil=1');
});

test('a client that names no host is sent to the address it came to', async (t) => {
  const servers = `server_name secret.example; location /moved { return 301 /a; } location /slash/ { proxy_pass http://127.0.0.1:1; }`;
  const srv = await startSrv(
    t,
    `events {}
    http {
      server { listen 127.0.0.1:%%PORT_web%%; ${servers} location /named { server_name_in_redirect on; return 301 /a; } }
      server { listen unix:s.sock; ${servers} }
    }`,
  );
  const port = srv.port('web');
  const location = async (path: string, lines = '', to: number | string = port): Promise<string | undefined> =>
    /\r\nLocation: (.*)\r\n/.exec(await exchange(t, to, `GET ${path} HTTP/1.0\r\n${lines}\r\n`))?.[1];
  t.is(await location('/moved'), `http://127.0.0.1:${port}/a`);
  t.is(await location('/moved', 'Host: b.example:1\r\n'), `http://b.example:${port}/a`);
  t.is(await location('/slash'), `http://127.0.0.1:${port}/slash/`);
  t.is(await location('/named'), `http://secret.example:${port}/a`);
  t.is(await location('/moved', '', srv.path('s.sock')), 'http://secret.example/a', 'a unix socket is no host');
});
