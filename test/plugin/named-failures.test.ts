/** What a module throws outside of its handlers: the line of the log names the module. */
import test from 'ava';
import { plugin } from '../harness/plugins.js';
import { shared } from '../harness/scope.js';
import { startSrv, type TestServer } from '../../testing/server.js';

const STREAMS = plugin('acme_streams', {
  manifest: `api: '1.2', directives: { acme: directive({ in: ['location'], args: text() }) }`,
  body: `
    compile({ conf: { acme } }) {
      async function* broken() { yield 'first '; throw new Error('broken stream'); }
      const source = { length: 10, read() { throw new Error('broken source'); }, close() {} };
      if (acme === 'pipe') return { content: (request) => request.respond(200, 'text/plain').pipe(broken()) };
      if (acme === 'late') return { access: async (request) => { await null; return request.respond(200, 'text/plain').pipe(broken()); } };
      if (acme === 'source') return { content: (request) => request.sendFrom(200, source) };
      if (acme === 'explain') return { access: () => -1, explain: { access: () => { throw new Error('broken explain'); } } };
      if (acme === 'waits') return { access: () => -1, explain: { access: async () => { throw new Error('broken promise'); } } };
      return undefined;
    }`,
});

const ROUTES = plugin('acme_routes', {
  kind: 'control',
  manifest: `api: '1.2', key: 'acme_routes'`,
  imports: `import { route } from 'srv/module/control.js'; import { Type } from 'srv/module/schema.js';`,
  body: `
    stream() { return { status: 200, type: 'text/plain', stream: (async function* () { yield 'first '; throw new Error('broken reply'); })() }; }
    fails() { throw new Error('broken route'); }`,
}).concat(`
for (const name of ['stream', 'fails'])
  route('GET', '/' + name, { summary: name, responses: { 200: Type.Object({}) } })(Plugin.prototype, name, Object.getOwnPropertyDescriptor(Plugin.prototype, name));
`);

/** A setting that cannot read one of its values. */
const SETTING = plugin('acme_setting', {
  imports: `import { fieldSet } from 'srv/module/setting.js';
const read = (lines) => {
  if (lines.some(({ args }) => args[0].text === 'unreadable')) throw new Error('broken read');
  return lines.length === 0 ? {} : { word: lines[0].args[0].text };
};
const fields = [fieldSet({
  fields: { word: { type: 'string' } }, directives: ['acme_word'], read,
  write: ({ word }) => (word === null ? [] : [{ name: 'acme_word', words: [word], pointer: '/word' }]),
})];`,
  manifest: `api: '1.2', directives: { acme_word: directive({ in: ['http', 'server', 'location'], args: text(), dynamic: true }) },
    settings: [{ key: 'acme_word', summary: 'words', engine: 'http', server: fields, location: fields }]`,
  body: `compile({ conf: { acme_word } }) { return { header: ({ response }) => response.set('X-Word', acme_word ?? 'none') }; }`,
});

const modules = ['streams', 'routes', 'setting'].map((name) => `%%PREFIX%%/acme_${name}.mjs`);
const [STREAMS_FILE = '', ROUTES_FILE = '', SETTING_FILE = ''] = modules;

const server = shared(async (scope): Promise<TestServer> => {
  const srv = await startSrv({
    modules: [STREAMS_FILE, SETTING_FILE, 'modules/srv_http_explain_module.js'],
    files: { 'acme_streams.mjs': STREAMS, 'acme_routes.mjs': ROUTES, 'acme_setting.mjs': SETTING },
    workers: 1,
    server: ['pipe', 'late', 'source', 'explain', 'waits'].map((name) => `location /${name} { acme ${name}; }`).join('\n'),
    http: `server { listen 127.0.0.1:%%PORT_words%%; server_name words; location / { return 204; } }
      server { listen 127.0.0.1:%%PORT_other%%; server_name other; acme_word unreadable; return 204; }`,
    control: {
      modules: [ROUTES_FILE, SETTING_FILE, 'modules/srv_http_explain_api_module.js', 'modules/srv_http_config_api_module.js'],
    },
  });
  scope.teardown(() => srv.stop());
  return srv;
});

for (const [path, error] of [
  ['/pipe', 'broken stream'],
  ['/late', 'broken stream'],
  ['/source', 'broken source'],
] as const) {
  test.serial(`a response that a module streams and that fails, ${path}, is logged with its name`, async (t) => {
    const srv = await server();
    await t.throwsAsync(srv.get(path), undefined, 'the response is cut off');
    await srv.waitForLog(new RegExp(`a handler of "acme_streams" failed: Error: ${error}[^]*?request: "GET ${path} `));
  });
}

test.serial('a route whose stream fails is logged with the name of its module', async (t) => {
  const srv = await server();
  await t.throwsAsync(srv.api('GET', '/v1/acme_routes/stream'), undefined, 'the response is cut off');
  await srv.waitForLog(/stream of route GET \/v1\/acme_routes\/stream of module "acme_routes" failed: Error: broken reply/);
});

test.serial('a route that throws is logged with the name of its module', async (t) => {
  const srv = await server();
  t.like(await srv.api('GET', '/v1/acme_routes/fails'), { status: 500, json: { error: { code: 'InternalError' } } });
  await srv.waitForLog(/GET \S*\/v1\/acme_routes\/fails: 500 InternalError.*module "acme_routes": Error: broken route/);
});

for (const [path, error] of [
  ['/explain', 'broken explain'],
  ['/waits', 'broken promise'],
] as const) {
  test.serial(`an explanation that fails, ${path}, is logged with the name of its module`, async (t) => {
    const srv = await server();
    const { status } = await srv.api('GET', `/v1/explain?url=http://127.0.0.1:${srv.port()}${path}`);
    t.is(status, 200);
    await srv.waitForLog(new RegExp(`explanation by module "acme_streams" failed: Error: ${error}`));
  });
}

test.serial('a setting that cannot be read is an error that names its module, and changes nothing', async (t) => {
  const srv = await server();
  const word = async (): Promise<unknown> => (await srv.get('/', { port: 'words' })).headers['x-word'];
  t.like(await srv.api('GET', '/v1/config/acme_word'), { status: 500, json: { error: { code: 'InternalError' } } });
  await srv.waitForLog(/action setting\.acme_word\.list of module "acme_setting" failed, .*Error: broken read/);
  const change = { servers: [{ listens: [`127.0.0.1:${srv.port('words')}`], serverNames: ['words'], word: 'new' }] };
  t.like(await srv.api('PUT', '/v1/config/acme_word', change), { status: 500, json: { error: { code: 'InternalError' } } });
  await srv.waitForLog(/action setting\.acme_word\.change of module "acme_setting" failed, .*Error: broken read/);
  t.is(await word(), 'none');
  t.like(await srv.api('PUT', '/v1/config/acme_word?dry_run=1', change), { status: 500 });
});
