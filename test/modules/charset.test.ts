/** `charset` (ngx_http_charset_module): each response is the one of nginx. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { exchange } from '../harness/client.js';
import { nginxVerdict, startNginx } from '../harness/nginx.js';
import { freePort } from '../harness/ports.js';
import { testWith } from '../harness/programs.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';

const MAPS = `
  charset_map koi8-r utf-8 { C1 D0B0; C2 D0B1; 80 E282AC; }
  charset_map KOI8-R win { C1 E0; c2 e1; 0 20; }`;

/** Texts are bytes as latin1 strings. */
const KOI = 'a\xc1\xc2\x80\xff!';
const UTF8 = Buffer.from('\ufeffuаб€г😀 end').latin1Slice();

const conf = (root: string, port: number, backend: number): string => `
  types { text/html html; text/plain txt; text/css css; image/png png; }
  ${MAPS}
  server {
    listen 127.0.0.1:${port};
    root ${root};
    charset utf-8;
    location / { }
    location /off/ { alias ${root}/; charset off; }
    location /from-koi/ { alias ${root}/; source_charset koi8-r; }
    location /koi-win/ { alias ${root}/; charset win; source_charset koi8-r; }
    location /to-koi/ { alias ${root}/; charset koi8-r; source_charset utf-8; }
    location /same/ { alias ${root}/; charset utf-8; source_charset utf-8; }
    location /has/ { proxy_pass http://127.0.0.1:${backend}/; source_charset koi8-r; }
    location /override/ { proxy_pass http://127.0.0.1:${backend}/; override_charset on; }
    location /override-win/ { proxy_pass http://127.0.0.1:${backend}/; override_charset on; charset win; }
    location /variable/ { alias ${root}/; charset $arg_c; source_charset $arg_s; }
    location /css/ { alias ${root}/; charset_types text/css; }
    location /any/ { alias ${root}/; charset_types *; }
    location /if/ { alias ${root}/; if ($arg_c) { charset off; } }
    location /return { default_type text/html; return 200 text; }
    location /moved { return 301 /x; }
    location /moved-308 { return 308 /x; }
  }`;

/** Paths, the charset of the response (undefined: none), and its body. */
const CASES: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ['/koi.html', 'utf-8', KOI],
  ['/x.txt', 'utf-8', 'x'],
  ['/x.css', undefined, 'x'],
  ['/x.png', undefined, 'x'],
  ['/nowhere', 'utf-8', undefined],
  ['/moved', undefined, undefined],
  ['/moved-308', 'utf-8', undefined],
  ['/return', 'utf-8', 'text'],
  ['/off/koi.html', undefined, KOI],
  ['/from-koi/koi.html', 'utf-8', `a${Buffer.from('аб€').latin1Slice()}?!`],
  ['/koi-win/koi.html', 'win', 'a\xe0\xe1??!'],
  ['/to-koi/utf8.html', 'koi8-r', '&#65279;u\xc1\xc2\x80&#1075;&#128512; end'],
  ['/same/utf8.html', 'utf-8', UTF8],
  ['/has/koi8-r', 'koi8-r', KOI],
  ['/override/koi8-r', 'utf-8', `a${Buffer.from('аб€').latin1Slice()}?!`],
  ['/override-win/koi8-r', 'win', 'a\xe0\xe1??!'],
  ['/override-win/other', 'other', KOI],
  ['/variable/koi.html?c=utf-8&s=koi8-r', 'utf-8', `a${Buffer.from('аб€').latin1Slice()}?!`],
  ['/variable/koi.html?c=win&s=utf-8', undefined, KOI],
  ['/variable/koi.html?c=zzz&s=koi8-r', undefined, KOI],
  ['/css/x.css', 'utf-8', 'x'],
  ['/css/x.txt', undefined, 'x'],
  ['/css/koi.html', 'utf-8', KOI],
  ['/any/x.png', 'utf-8', 'x'],
  ['/if/koi.html', 'utf-8', KOI],
  ['/if/koi.html?c=1', undefined, KOI],
];

function files(t: ExecutionContext): string {
  const root = tempFolder(t, { 'x.txt': 'x', 'x.css': 'x', 'x.png': 'x' });
  writeFileSync(join(root, 'koi.html'), KOI, 'latin1');
  writeFileSync(join(root, 'utf8.html'), UTF8, 'latin1');
  return root;
}

/** Responds with the charset that the path names. */
async function member(t: ExecutionContext): Promise<number> {
  const { port } = await rawBackend(t, (socket) => {
    socket.once('data', (bytes) => {
      const charset = /^GET \/(\S+)/.exec(bytes.toString('latin1'))?.[1] ?? '';
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=${charset}\r\nContent-Length: ${KOI.length}\r\n\r\n${KOI}`, 'latin1');
    });
  });
  return port;
}

interface Received {
  readonly head: string;
  readonly body: string;
}

async function ask(t: ExecutionContext, port: number, path: string, fields = ''): Promise<Received> {
  const bytes = await exchange(t, port, `GET ${path} HTTP/1.0\r\nHost: a\r\n${fields}\r\n`);
  const end = bytes.indexOf('\r\n\r\n');
  return { head: bytes.slice(0, end), body: bytes.slice(end + 4) };
}

async function assertSite(t: ExecutionContext, port: number): Promise<void> {
  for (const [path, charset, body] of CASES) {
    const response = await ask(t, port, path);
    t.is(/^Content-Type: [^;\r]+(?:; charset=(.*))?\r?$/m.exec(response.head)?.[1]?.trim(), charset, path);
    if (body !== undefined) t.is(response.body, body, path);
  }
  const converted = await ask(t, port, '/from-koi/koi.html', 'Range: bytes=0-1\r\n');
  t.notRegex(converted.head, /Content-Length|Accept-Ranges/);
  t.regex(converted.head, / 200 OK/);
  const part = await ask(t, port, '/koi-win/koi.html', 'Range: bytes=1-2\r\n');
  t.regex(part.head, / 206 Partial/);
  t.is(part.body, '\xe0\xe1');
}

test('charsets are named, and converted', async (t) => {
  const port = await freePort(t);
  const srv = await startSrv(t, `events {} http { ${conf(files(t), port, await member(t))} }`);
  await assertSite(t, port);
  await srv.waitForLog(/\[error\] .*no "charset_map" between the charsets "utf-8" and "win", client: /);
});

testWith('nginx')('nginx does the same', async (t) => {
  const port = await freePort(t);
  await startNginx(t, conf(files(t), port, await member(t)));
  await assertSite(t, port);
});

test('a character that comes in pieces is one', async (t) => {
  const { port } = await rawBackend(t, (socket) => {
    socket.once('data', () => {
      const bytes = Buffer.from('HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nаб€😀');
      let at = 0;
      const send = (): void => {
        if (at < bytes.length) socket.write(bytes.subarray(at, ++at), () => setImmediate(send));
        else socket.end();
      };
      send();
    });
  });
  const srv = await startSrv(
    t,
    `events {} http { ${MAPS} server { listen 127.0.0.1:%%PORT_web%%; location / { charset koi8-r; source_charset utf-8; proxy_pass http://127.0.0.1:${port}; } } }`,
  );
  t.is((await ask(t, srv.port('web'), '/')).body, '\xc1\xc2\x80&#128512;');
});

testWith('nginx')('nginx says the same of charset_map', async (t) => {
  for (const text of [
    'charset_map a a { }',
    'charset_map a b { } charset_map a b { }',
    'charset_map a b { } charset_map b a { }',
    'charset_map a b { 80; }',
    'charset_map a b { 80 81 82; }',
    'charset_map a b { 100 81; }',
    'charset_map a b { 80 8182; }',
    'charset_map a utf-8 { 80 8182838485; }',
    'charset_map a utf-8 { 80 818; }',
    'charset_map a utf-8 { 80 z; }',
    'charset_map a b { x y; }',
    'server { charset a; source_charset b; }',
  ]) {
    const verdict = nginxVerdict(t, text);
    t.not(verdict, '', text);
    const { stderr } = await check(t, `events {} http { ${text} server { } }`);
    t.true(stderr.includes(verdict), `${text}\n${verdict}\n${stderr}`);
  }
});
