/** The order of handlers: by number, by the order of loading, and by name above both. */
import test, { type ExecutionContext } from 'ava';
import { check, type Check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

/** A module that notes its name when its handler and its filter run. */
const noting = (name: string, manifest: string): string =>
  plugin(name, {
    manifest,
    body: `compile() {
      return {
        precontent: (request) => { request.response.append('X-Order', '${name}'); return -1; },
        header: (request) => request.response.append('X-Filter', '${name}'),
      };
    }`,
  });

const lines = (...names: string[]): string => names.map((name) => `load_module modules/${name}.mjs;`).join('\n');

async function orders(t: ExecutionContext, manifests: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const files = Object.fromEntries(Object.entries(manifests).map(([name, of]) => [`modules/${name}.mjs`, noting(name, of)]));
  const conf = `${lines(...Object.keys(manifests))} events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 204; } } }`;
  const srv = await startSrv(t, conf.replace('return 204;', 'error_page 418 = @there; } location @there { return 204;'), { files });
  const { rawHeaders } = await get(srv.port('web'), '/');
  return ['X-Order', 'X-Filter'].map((field) => rawHeaders.filter((_, at) => rawHeaders[at - 1] === field).join(' '));
}

test('without numbers and names handlers run in the order of loading', async (t) => {
  t.deepEqual((await orders(t, { c: '', a: '', b: '' }))[1], 'c a b');
});

test('names go before numbers, and numbers before the order of loading', async (t) => {
  const manifests = { a: `after: 'c'`, b: '', c: 'phases: { header: 200 }', d: `before: ['b'], phases: { header: 150 }` };
  t.deepEqual((await orders(t, manifests))[1], 'd b c a');
});

function ordered(t: ExecutionContext, manifests: Readonly<Record<string, string>>): Promise<Check> {
  const files = Object.fromEntries(
    Object.entries(manifests).map(([name, manifest]) => [`modules/${name}.mjs`, plugin(name, { manifest })]),
  );
  return check(t, `${lines(...Object.keys(manifests))}\nevents {}`, files);
}

test('a module that comes with srv need not be loaded to be named', async (t) => {
  const { code, stderr } = await ordered(t, { a: `after: ['srv_http_multi_header_module', 'srv_http_access_module']` });
  t.is(code, 0, stderr);
});

test('rejected: an unknown name', async (t) => {
  const { code, stderr } = await ordered(t, { a: `after: 'srv_http_acces_module'` });
  t.is(code, 1);
  t.regex(stderr, /a\.mjs": unknown module "srv_http_acces_module" in "after" in .*:1\n[^]*did you mean "srv_http_access_module"\?/);
});

test('rejected: a circle', async (t) => {
  const { code, stderr } = await ordered(t, { a: `after: 'b'`, b: `after: 'c'`, c: `before: 'd', after: 'a'`, d: '' });
  t.is(code, 1);
  t.regex(stderr, /a\.mjs": modules cannot be ordered: a after b after c after a in .*:1\n/);
});
