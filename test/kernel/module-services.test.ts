/** Services that one module provides and another needs. */
import test, { type ExecutionContext } from 'ava';
import { check, type Check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

/** Each file declares the service for itself, as modules of different authors do. */
const SERVICE = `class Greeter { static service = 'acme.greeter'; }`;

const provider = (name: string, text: string): string =>
  plugin(name, { imports: SERVICE, manifest: 'provides: [Greeter]', body: `greet(who) { return '${text} ' + who; }` });

const NEEDY = plugin('needy', {
  imports: SERVICE,
  manifest: `directives: { greet: directive({ in: ['location'], args: text() }) }`,
  body: `
    static services = [Greeter];
    constructor(greeter) { this.greeter = greeter; }
    compile({ conf }) { return conf.greet && { content: (request) => request.send(200, this.greeter.greet(conf.greet)) }; }`,
});

const files = {
  'modules/hello.mjs': provider('hello', 'hello'),
  'modules/moin.mjs': provider('moin', 'moin'),
  'modules/needy.mjs': NEEDY,
  'modules/wanting.mjs': plugin('wanting', { imports: SERVICE, manifest: 'needs: [Greeter]' }),
};
const site = (lines: string): string =>
  `${lines} error_log logs/error.log notice; events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { greet you; } } }`;

function loaded(t: ExecutionContext, lines: string): Promise<Check> {
  return check(t, `${lines}\nevents {}`, files);
}

test('a module has the service of another one, also after a reload that brings another provider', async (t) => {
  const srv = await startSrv(t, site('load_module modules/hello.mjs; load_module modules/needy.mjs;'), { files });
  t.is((await get(srv.port('web'), '/')).body, 'hello you');
  await srv.configure(site('load_module modules/moin.mjs; load_module modules/needy.mjs;'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is((await get(srv.port('web'), '/')).body, 'moin you');
});

for (const [what, lines] of [
  ['nobody provides', 'load_module modules/needy.mjs;'],
  ['is provided too late', 'load_module modules/needy.mjs; load_module modules/hello.mjs;'],
  ['is needed without being used', 'load_module modules/wanting.mjs;'],
] as const) {
  test(`rejected: a service that ${what}`, async (t) => {
    const { code, stderr } = await loaded(t, lines);
    t.is(code, 1);
    t.regex(stderr, /(needy|wanting)\.mjs": it needs the service "acme\.greeter", which no module provides in .*:1\n/);
    t.regex(stderr, /\n {4}load the module that provides it before this one\n/);
  });
}

test('rejected: a service of two modules', async (t) => {
  const { code, stderr } = await loaded(t, 'load_module modules/hello.mjs;\nload_module modules/moin.mjs;');
  t.is(code, 1);
  t.regex(stderr, /moin\.mjs": service "acme\.greeter" is provided by both "hello" and "moin" in .*:2\n/);
});
