/** What variables and modules put into a line of a message cannot say where that line ends. */
import test from 'ava';
import { exchange, get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { echoBackend } from './echo-backend.js';

/** Cut to bytes, these are CR and LF. */
const WIDE = String.raw`\u010d\u010a`;

const MODULE = plugin('acme', {
  imports: `const FIELDS = {
      value: ['X-A', 'a\\r\\nX-Evil: 1'], wide: ['X-A', 'a${WIDE}X-Evil: 1'], name: ['X-A\\r\\nX-Evil', '1'], blank: ['X A', '1'], utf8: ['X-A', Buffer.from('\\u010d').latin1Slice()],
    };`,
  manifest: `directives: { field: { in: ['location'], args: text(), inherit: 'none' }, go: { in: ['location'], args: text(), inherit: 'none' } }`,
  body: `variables = { wide: () => 'a${WIDE}X-Evil: 1' };
    compile(scope) {
      const { field, go } = scope.conf;
      if (scope.own('field')) return { content: (request) => { request.response.set(...FIELDS[field]); return request.send(200, 'sent'); } };
      if (scope.own('go')) return { content: (request) => request.redirect(go + request.uri, 'u=' + request.uri) };
    }`,
});

test('field lines, request lines and Location', async (t) => {
  const backend = await echoBackend(t);
  const srv = await startSrv(
    t,
    `load_module modules/acme.mjs;
    error_log logs/error.log info;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_web%%;
        ${['value', 'wide', 'name', 'blank', 'utf8'].map((name) => `location /${name} { field ${name}; }`).join('\n')}
        location /added { add_header X-A $wide; return 200 sent; }
        location /location { return 302 /to$uri; }
        location /page { error_page 404 http://a.example$uri; return 404; }
        location /passed { proxy_pass http://127.0.0.1:${backend.port}; proxy_set_header X-A $wide; }
        location /target { proxy_pass http://127.0.0.1:${backend.port}/$wide; }
        location /arguments { error_page 404 /sent?u=$uri; return 404; }
        location /sent { proxy_pass http://127.0.0.1:${backend.port}; }
        location /go { go /sent; }
        location /go-wide { go "/sent\u010d"; }
      }
    }`,
    { files: { 'modules/acme.mjs': MODULE } },
  );
  const port = srv.port('web');
  const ask = (target: string): Promise<string> => exchange(t, port, `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  t.regex(await ask('/value'), /^HTTP\/1\.1 200 [^]*\r\nX-A: a {2}X-Evil: 1\r\n/);
  t.regex(await ask('/utf8'), /^HTTP\/1\.1 200 [^]*\r\nX-A: \xc4\x8d\r\n/);
  for (const path of ['/wide', '/name', '/blank', '/added', '/passed', '/target']) {
    const answer = await ask(path);
    t.regex(answer, /^HTTP\/1\.1 500 /, path);
    t.notRegex(answer, /X-Evil/, path);
  }
  await srv.waitForLog(/a handler of "acme" failed: TypeError: 'a\S*X-Evil: 1' has characters that are not bytes: make it UTF-8 with/);
  await srv.waitForLog(/a handler of "acme" failed: TypeError: 'X A' is not a valid header name/);
  t.is((await get(port, '/location/a%0d%0aX-Evil:%20b')).headers.location, `http://127.0.0.1:${port}/to/location/a%0D%0AX-Evil:%20b`);
  t.is((await get(port, '/page/a%0d%0aX-Evil:%20b')).headers.location, 'http://a.example/page/a%0D%0AX-Evil:%20b');
  t.regex((await get(port, '/arguments/a%0d%0ab')).body, /^GET \/sent\?u=\/arguments\/a%0D%0Ab HTTP\/1\.1\r\n/);
  t.regex((await get(port, '/go/a%0d%0ab')).body, /^GET \/sent\/go\/a%0D%0Ab\?u=\/go\/a%0D%0Ab HTTP\/1\.1\r\n/);
});
