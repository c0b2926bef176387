import { pipeline } from 'node:stream/promises';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { bodyOf, httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { patternDigest, patternStream } from './byte-streams.js';
import { ask, digestOf, LENGTH } from './slow-clients.js';

/** `look KIND;` does something with the responses of members; `$kept` is what was stored last of each path. */
const MODULE = plugin('test_look_module', {
  manifest: "directives: { look: directive({ in: ['location'], args: text(), inherit: 'none' }) }",
  body: `
  #kept = {};
  variables = { kept: (request) => this.#kept[request.variable('arg_of')] ?? 'nothing' };
  async #read(name, body) {
    const { createHash } = process.getBuiltinModule('node:crypto');
    const hash = createHash('sha256');
    let length = 0;
    try {
      for await (const piece of body) { hash.update(piece); length += piece.length; }
      this.#kept[name] = length + ' ' + hash.digest('hex');
    } catch (error) { this.#kept[name] = 'after ' + length + ': ' + error.message; }
  }
  compile(scope) {
    const kinds = {
      store: (request, response) => {
        const stored = response.store();
        const name = request.uri;
        void this.#read(name, stored.open());
        void this.#read(name + '-2', stored.open()).then(async () => {
          await this.#read(name + '-late', stored.open());
          stored.release();
        });
      },
      unread: (request, response) => response.store().release(),
      replace: (request, response) => request.method === 'POST' ? (response.discard(), request.redirect('/echo')) : 418,
      later: async (request, response) => request.send(200, ['instead', response.status, response.length, response.header('x-kind')].join(' ')),
      throws: () => { throw new Error('no'); },
    };
    const memberResponse = kinds[scope.conf.look];
    return memberResponse === undefined ? undefined : { memberResponse };
  }
`,
});

async function start(t: ExecutionContext): Promise<Srv> {
  const backend = await httpBackend(t, (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://a');
    if (request.method === 'POST') {
      void bodyOf(request).then((body) => response.end(`${pathname} ${body}`));
      return;
    }
    const length = Number(searchParams.get('length') ?? LENGTH);
    response.setHeader('X-Kind', 'k');
    if (pathname.includes('broken')) {
      response.setHeader('Content-Length', length);
      response.write('x'.repeat(1000), () => response.destroy());
      return;
    }
    if (searchParams.has('known')) response.setHeader('Content-Length', length);
    pipeline(patternStream(length), response).catch(() => undefined);
  });
  const kinds = ['store', 'unread', 'replace', 'later', 'throws'];
  return startSrv(
    t,
    `load_module modules/test_look_module.so; worker_processes 1; error_log logs/error.log info; events {}
    http { server { listen 127.0.0.1:%%PORT_web%%;
      ${kinds.map((kind) => `location /${kind} { look ${kind}; proxy_pass http://127.0.0.1:${backend.port}; }`).join('\n')}
      location /store/pressed { look store; gzip on; gzip_types *; proxy_pass http://127.0.0.1:${backend.port}; }
      location /store/off { look store; proxy_buffering off; proxy_max_temp_file_size 0; proxy_pass http://127.0.0.1:${backend.port}; }
      location /echo { proxy_pass http://127.0.0.1:${backend.port}; }
      location /kept { return 200 $kept; }
    } }`,
    { files: { 'modules/test_look_module.js': MODULE } },
  );
}

test('a response is stored whole at the pace of its member, whatever its client does, for readers at any time', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  const kept = async (path: string): Promise<string> => (await get(port, `/kept?of=${path}`)).body;
  const isKept = (path: string, what: string): Promise<unknown> => waitFor(`the end of ${path}`, async () => (await kept(path)) === what);
  for (const length of [0, 100, 100_000]) {
    for (const known of ['', '&known']) {
      const path = `/store/${length}${known === '' ? '' : 'known'}`;
      t.is(await digestOf(await ask(t, port, `${path}?length=${length}${known}`)), patternDigest(length));
      for (const reader of ['', '-2', '-late']) await isKept(path + reader, patternDigest(length));
    }
  }
  const slow = await ask(t, port, '/store/slow');
  await isKept('/store/slow', patternDigest(LENGTH));
  const leaving = await Promise.all(['/store/left', '/store/pressed', '/store/off'].map((path) => ask(t, port, path)));
  for (const response of leaving) response.destroy();
  for (const path of ['/store/left', '/store/pressed', '/store/off', '/store/left-late']) await isKept(path, patternDigest(LENGTH));
  t.is(await digestOf(slow), patternDigest(LENGTH));
  await t.throwsAsync(digestOf(await ask(t, port, '/store/broken')));
  await isKept('/store/broken', 'after 1000: the body is not complete');
  t.is(await digestOf(await ask(t, port, '/unread?length=50000')), patternDigest(50_000));
});

test('a module drops the response of a member and responds in its place', async (t) => {
  const srv = await start(t);
  const port = srv.port('web');
  t.is((await get(port, '/replace?length=100000')).status, 418);
  t.is((await get(port, '/replace', { method: 'POST', body: 'from the client' })).body, '/echo from the client');
  t.is((await get(port, '/later?length=77&known')).body, 'instead 200 77 k');
  t.is((await get(port, '/throws?length=10')).status, 500);
  await srv.waitForLog(/\[crit\] .* a handler of "test_look_module" failed: Error: no/);
});
