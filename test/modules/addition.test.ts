import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { sameAsNginx } from '../harness/same-as-nginx.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';

const FILES = { 'p.html': '<main>', 'a.txt': 'plain', 'empty.html': '', 'add/before': 'before:', 'add/after': ':after' };

sameAsNginx(
  'texts before and behind responses',
  (t, port) => {
    const folder = tempFolder(t);
    for (const [name, text] of Object.entries(FILES)) writeInto(folder, name, text);
    return `types { text/html html; text/plain txt; } server { listen 127.0.0.1:${port}; root ${folder};
      location /both/ { alias ${folder}/; add_before_body /add/before; add_after_body /add/after; }
      location /types/ { alias ${folder}/; add_before_body /add/before; addition_types text/plain;
        location /types/inner/ { alias ${folder}/; add_after_body /add/after; }
        location /types/none/ { alias ${folder}/; add_before_body ""; } }
      location /any/ { add_after_body /add/after; addition_types *; default_type x/y; return 200 text; }
      location /missing/ { add_before_body /none; error_page 404 /add/after; default_type text/html; return 200 text; }
      location /none { return 404 gone; }
      location /changed/ { alias ${folder}/; add_before_body /add/before; sub_filter main MAIN; sub_filter before never; }
      location /error/ { add_before_body /add/before; default_type text/html; return 404 error; }
      location /nested/ { add_before_body /outer/; default_type text/html; return 200 text; }
      location /outer/ { add_before_body /add/before; default_type text/html; return 200 "outer:"; }
      location /facts/ { add_before_body /said?x=1; default_type text/html; return 200 text; }
      location /said { internal; return 200 "$uri $args $request_uri "; } }`;
  },
  async (t, port) => {
    const body = async (path: string, headers = {}): Promise<string> => (await get(port, path, { headers })).body;
    t.is(await body('/both/p.html'), 'before:<main>:after');
    t.is(await body('/both/p.html', { range: 'bytes=0-1' }), 'before:<main>:after');
    t.is(await body('/both/a.txt'), 'plain');
    t.is(await body('/both/empty.html'), 'before::after');
    t.is(await body('/types/a.txt'), 'before:plain');
    t.is(await body('/types/p.html'), 'before:<main>', 'text/html always');
    t.is(await body('/types/inner/p.html'), 'before:<main>:after');
    t.is(await body('/types/none/p.html'), '<main>');
    t.is(await body('/any/'), 'text:after');
    t.is(await body('/missing/'), 'gonetext', 'whatever its status');
    t.is(await body('/changed/p.html'), 'before:<MAIN>', 'the filters of the location are not for the texts');
    t.is(await body('/error/'), 'error', 'only where the status is 200');
    t.is(await body('/nested/'), 'outer:text');
    t.is(await body('/facts/'), '/said?x=1  /facts/ text');
    const { headers } = await get(port, '/both/p.html', { method: 'HEAD' });
    t.regex(headers.etag ?? '', /^W\//);
    t.deepEqual([headers['content-length'], headers['accept-ranges']], [undefined, undefined]);
  },
);

test('a large body waits for the text before it, and a text that fails is left out', async (t) => {
  const large = 'x'.repeat(3_000_000);
  const backend = await httpBackend(t, ({ url }, response) => {
    response.setHeader('content-type', 'text/html');
    if (url === '/late') setTimeout(() => response.end('late:'), 100);
    else if (url === '/cut') response.writeHead(200, { 'content-length': 10 }).write('x', () => response.destroy());
    else response.end(large);
  });
  const to = `proxy_pass http://127.0.0.1:${backend.port};`;
  const srv = await startSrv(
    t,
    `error_log logs/error.log; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { ${to} }
      location = /large { add_before_body /late; ${to} } location = /fails { add_before_body /cut; add_after_body /late; ${to} } } }`,
  );
  t.true((await get(srv.port('web'), '/large')).body === `late:${large}`);
  t.true((await get(srv.port('web'), '/fails')).body === `${large}late:`);
  await srv.waitForLog(/the response of subrequest "\/cut" was cut off/);
});
