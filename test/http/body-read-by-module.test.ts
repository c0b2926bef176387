import test, { type ExecutionContext } from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

/** A module that reads the body in the access phase, as one that checks a form does, and lets others go on. */
const MODULE = `
import { httpModule } from 'srv/module/manifest.js';
import { text } from 'srv/module/args.js';
import { DECLINED } from 'srv/module/http.js';

const LIMIT = 200000;
const lengths = {};
const read = async (request) => { lengths[request.requestUri] = (await request.readBody(LIMIT)).length; };
const HANDLERS = {
  access: { access: async (request) => { await read(request); return DECLINED; } },
  twice: { access: async (request) => { await read(request); await read(request); return DECLINED; } },
  redirect: { content: async (request) => { await read(request); return request.redirect('/pass'); } },
  begin: {
    content: async (request) => {
      await request.streamBody(LIMIT).next();
      lengths['/begun'] = 'yes';
      await new Promise(() => {});
    },
  },
  anyway: { access: async (request) => { await read(request).catch(() => undefined); return DECLINED; } },
};

class Reads {
  variables = { body_length: (request) => String(lengths[request.requestUri] ?? 'none') };
  compile(scope) { return scope.own('reads') ? HANDLERS[scope.conf.reads] : undefined; }
}
httpModule({ name: 'test_reads_module', api: 1, directives: { reads: { in: ['location'], args: text(), inherit: 'none' } } })(Reads);
export { Reads };
`;

async function start(t: ExecutionContext): Promise<Srv> {
  const backend = await httpBackend(t, (request, response) => {
    void bodyOf(request).then((body) => response.end(`${String(request.headers['x-read'])} ${body.length} ${body.slice(0, 6)}`));
  });
  return startSrv(
    t,
    `load_module modules/test_reads_module.js;
    events {}
    http {
      client_body_buffer_size 8k;
      proxy_set_header X-Read $body_length;
      upstream group { server 127.0.0.1:${backend.port}; }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /access { reads access; proxy_pass http://group; }
        location /twice { reads twice; proxy_pass http://group; }
        location /redirect { reads redirect; }
        location /anyway { reads anyway; proxy_pass http://group; }
        location /pass { proxy_pass http://group; }
        location /after { error_page 502 = @read; proxy_pass http://127.0.0.1:9; }
        location @read { reads anyway; proxy_pass http://group; }
        location /begin { reads begin; }
        location /begun { return 200 $body_length; }
        location /here { reads access; return 200 here; }
      }
    }`,
    { files: { 'modules/test_reads_module.js': MODULE } },
  );
}

test('a body that a module has read is passed on', async (t) => {
  const srv = await start(t);
  for (const path of ['/access', '/twice', '/redirect']) {
    for (const length of [6, 150_000]) {
      const body = 'abcdef'.repeat(length / 6);
      t.is((await get(srv.port('web'), path, { method: 'POST', body })).body, `${length} ${length} abcdef`, `${path} ${length}`);
    }
  }
  const chunked =
    'POST /redirect HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n';
  t.regex(await exchange(t, srv.port('web'), chunked), /6 6 abcdef/);
});

test('a body in a file can be read by a module, and is passed on after it, also if it is too long for the module', async (t) => {
  const srv = await start(t);
  const post = async (length: number): Promise<string> =>
    (await get(srv.port('web'), `/after${length}`, { method: 'POST', body: 'abcdef'.repeat(length / 6) })).body;
  t.is(await post(150_000), '150000 150000 abcdef');
  t.is(await post(300_000), 'none 300000 abcdef');
});

test('the connection goes on after a body that only the module has read', async (t) => {
  const srv = await start(t);
  const requests =
    'POST /here HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /pass HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
  t.regex(await exchange(t, srv.port('web'), requests), /^HTTP\/1\.1 200 [^]*\r\n\r\nhereHTTP\/1\.1 200 [^]* 0 /);
});

test('a body that was too long for the module is not passed on in part', async (t) => {
  const srv = await start(t);
  const long = 'x'.repeat(300_000);
  const size = long.length.toString(16);
  const chunked = `POST /anyway HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${size}\r\n${long}\r\n0\r\n\r\n`;
  t.regex(await exchange(t, srv.port('web'), chunked), /^HTTP\/1\.1 500 /);
  await srv.waitForLog(/request body is no longer available: it was streamed to an earlier upstream or reader/);
});

test('a client that leaves is noticed, also if the rest of its body was held back as it came', async (t) => {
  const srv = await start(t);
  const client = await connectRaw(t, srv.port('web'));
  client.send('POST /begin HTTP/1.1\r\nHost: a\r\nContent-Length: 65546\r\n\r\n0123456789');
  await waitFor('the first piece', async () => (await get(srv.port('web'), '/begun')).body === 'yes');
  client.send('x'.repeat(65_536));
  // All of it arrives before the end does.
  await waitFor('all bytes at the server', () => client.socket.writableLength === 0);
  client.socket.end();
  const last = await srv.waitForLog(/"POST \/begin HTTP\/1\.1" (\d+) /, 'logs/access.log');
  t.is(last[1], '499');
});
