/** Modules in npm packages. */
import test, { type ExecutionContext } from 'ava';
import { CONTRACT_VERSION } from '../../core/kernel/contract-version.js';
import { check, type Check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

const EVENTS = 'events {}';
const greeting = plugin('acme_http_greeting_module', {
  body: `compile() { return { content: (request) => request.send(200, 'hello') }; }`,
});
const control = plugin('acme_http_greeting_api_module', { kind: 'control', manifest: `key: 'greeting'` });

/** The files of a package in `node_modules` of the prefix. */
function packaged(name: string, srv: unknown): Readonly<Record<string, string>> {
  return {
    [`node_modules/${name}/package.json`]: JSON.stringify({ name, version: '1.0.0', ...(srv === undefined ? {} : { srv }) }),
    [`node_modules/${name}/dist/acme_http_greeting_module.mjs`]: greeting,
    [`node_modules/${name}/dist/acme_http_greeting_api_module.mjs`]: control,
  };
}

const MODULES = ['dist/acme_http_greeting_module.mjs', 'dist/acme_http_greeting_api_module.mjs'];

function load(t: ExecutionContext, srv: unknown, name = 'srv-greeting'): Promise<Check> {
  return check(t, `load_module ${name};\n${EVENTS}`, packaged('srv-greeting', srv));
}

for (const name of ['srv-greeting', '@acme/srv-greeting']) {
  test(`load_module ${name} loads the modules of the package that are for this plane`, async (t) => {
    const conf = `load_module ${name}; ${EVENTS} http { server { listen 127.0.0.1:%%PORT_web%%; location / { } } }`;
    const srv = await startSrv(t, conf, { files: packaged(name, { api: '^1.0', modules: MODULES }) });
    t.is((await get(srv.port('web'), '/')).body, 'hello');
  });
}

const IS_REFUSED: readonly (readonly [what: string, srv: unknown, message: RegExp])[] = [
  ['a package without modules', undefined, /package "srv-greeting" has no srv modules: no "srv" in .*package\.json in .*:1$/m],
  [
    'another version of the contract',
    { api: '^2.0', modules: MODULES },
    /package "srv-greeting" is made for version \^2\.0 of the module contract, this srv has version 1\.\d in .*:1$/m,
  ],
  ['a later minor', { api: '^1.99', modules: MODULES }, /made for version \^1\.99 of the module contract/],
  ['no version', { modules: MODULES }, /made for version undefined of the module contract/],
  ['a range that ends below', { api: '>=1.0 <1.1', modules: MODULES }, /made for version >=1\.0 <1\.1 of the module contract/],
  ['what is no range', { api: 'latest', modules: MODULES }, /made for version latest of the module contract/],
  ['no list of modules', { api: '1.0' }, /package "srv-greeting": "srv\.modules" must be an array of files in the package in .*:1$/m],
  [
    'a file outside of the package',
    { api: '1.0', modules: ['../../x.mjs'] },
    /package "srv-greeting": "srv\.modules" must be an array of files in the package in .*:1$/m,
  ],
  [
    'nothing for this plane',
    { api: '1.0', modules: [MODULES[1], MODULES[1]] },
    /package "srv-greeting" has no module for the data plane in .*:1$/m,
  ],
  [
    'a missing file',
    { api: '1.0', modules: ['x.mjs'] },
    /cannot load module ".*srv-greeting\/x\.mjs" \(2: No such file or directory\) in .*:1$/m,
  ],
];

for (const [what, srv, message] of IS_REFUSED) {
  test(`rejected: ${what}`, async (t) => {
    const { code, stderr } = await load(t, srv);
    t.is(code, 1);
    t.regex(stderr, message);
  });
}

test('rejected: a package that is not installed', async (t) => {
  const { code, stderr, prefix } = await load(t, {}, 'srv-farewell');
  t.is(code, 1);
  t.regex(stderr, /cannot load module "srv-farewell" \(2: No such file or directory\) in .*:1\n/);
  t.true(stderr.includes(`${prefix}/node_modules/srv-farewell`), stderr);
});

for (const api of ['>=1.1', '~1', '1.x', '^0.9 || ^1.1', `~${CONTRACT_VERSION}`, `${CONTRACT_VERSION}.0`]) {
  test(`a package may ask for the range ${api}`, async (t) => {
    const { code, stderr } = await load(t, { api, modules: MODULES });
    t.is(code, 0, stderr);
  });
}
