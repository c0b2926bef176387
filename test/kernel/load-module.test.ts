import test from 'ava';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';
import { writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const EVENTS = 'events {}\n';

test('a module of the prefix is loaded, and its directive works', async (t) => {
  const body = `
    compile(scope) {
      const greeting = scope.conf.greet;
      return greeting && { content: request => request.send(200, greeting) };
    }`;
  const files = {
    'modules/greet.js': plugin('greet', { manifest: `directives: { greet: directive({ in: ['location'], args: text() }) }`, body }),
  };
  const conf = `load_module modules/greet.js;\n${EVENTS}http { server { listen 127.0.0.1:%%PORT_web%%; location / { greet hello; } } }`;
  const srv = await startSrv(t, conf, { files });
  t.is((await get(srv.port('web'), '/')).body, 'hello');
});

test('services are the same objects for a module outside of the installation', async (t) => {
  const body = `
    static services = [Log];
    constructor(log) { this.log = log; }
    start(role) { this.log.write('error', 'plugin runs in the ' + role); }`;
  const imports = `import { Log } from 'srv/module/log.js';`;
  const files = { 'modules/noted.js': plugin('noted', { kind: 'core', imports, body }) };
  const srv = await startSrv(t, `load_module modules/noted.js;\n${EVENTS}`, { files });
  t.truthy(await srv.waitForLog(/plugin runs in the worker/));
  t.truthy(await srv.waitForLog(/plugin runs in the master/));
});

test('a module that needs an earlier minor version of the contract is loaded', async (t) => {
  const { code, stderr } = await check(t, `load_module modules/new.js;\n${EVENTS}`, {
    'modules/new.js': plugin('new', { manifest: `api: '1.1'` }),
  });
  t.is(code, 0, stderr);
});

test('one file may hold both halves of a feature, and each plane loads its own', async (t) => {
  const imports = `
    import { controlModule } from 'srv/module/manifest.js';
    import { route } from 'srv/module/control.js';
    export class Control { hello() { return { status: 200, body: 'control' }; } }
    route('GET', '', { summary: 'Hello', responses: { 200: null } })(Control.prototype, 'hello', {});
    controlModule({ name: 'both', api: 1, key: 'both' })(Control);`;
  const body = `compile({ own }) { return { content: (request) => request.send(200, 'data') }; }`;
  const control = `load_module modules/both.mjs;\n${EVENTS} http { server { listen 127.0.0.1:%%PORT_ctrl%%; location /api { dyn_module_api; } } }`;
  const files = { 'modules/both.mjs': plugin('both', { imports, body }), 'conf/ctrl.conf': control, 'conf/broker.conf': '' };
  const helpers =
    'helper broker modules/srv_helper_broker_module.js conf/broker.conf; helper ctrl modules/srv_helper_ctrl_module.js conf/ctrl.conf;';
  const data = `load_module modules/both.mjs; ${helpers}\n${EVENTS}http { server { listen 127.0.0.1:%%PORT_web%%; location / { } } }`;
  const srv = await startSrv(t, data, { files });
  t.is((await get(srv.port('web'), '/')).body, 'data');
  await waitFor('the API', () =>
    get(srv.port('ctrl'), '/').then(
      () => true,
      () => false,
    ),
  );
  t.is((await get(srv.port('ctrl'), '/api/v1/both')).body, '"control"');
});

test('the actions of a module that a reload takes out are gone', async (t) => {
  const imports = `
    import { action } from 'srv/module/control.js';
    import { controlModule } from 'srv/module/manifest.js';
    import { route } from 'srv/module/control.js';
    import { DataPlane } from 'srv/module/data-plane.js';
    export class Control {
      static services = [DataPlane];
      constructor(plane) { this.plane = plane; }
      async hello(call) { return { status: 200, body: await this.plane.call('acme.hello', {}, call) }; }
    }
    route('GET', '', { summary: 'Hello', responses: { 200: null } })(Control.prototype, 'hello', {});
    controlModule({ name: 'both', api: 1, key: 'both' })(Control);`;
  const source = `${plugin('both', { imports, body: `hello() { return 'from the master'; }` })}\naction('acme.hello')(Plugin.prototype, 'hello', {});`;
  const control = `load_module modules/both.mjs;\n${EVENTS} http { server { listen 127.0.0.1:%%PORT_ctrl%%; location /api { dyn_module_api; } } }`;
  const files = { 'modules/both.mjs': source, 'conf/ctrl.conf': control, 'conf/broker.conf': '' };
  const rest = `error_log logs/error.log notice;
    helper broker modules/srv_helper_broker_module.js conf/broker.conf; helper ctrl modules/srv_helper_ctrl_module.js conf/ctrl.conf;\n${EVENTS}`;
  const srv = await startSrv(t, `load_module modules/both.mjs; ${rest}`, { files });
  const ask = (): Promise<string> =>
    get(srv.port('ctrl'), '/api/v1/both').then(
      ({ body }) => body,
      () => '',
    );
  await waitFor('the action', async () => (await ask()) === '"from the master"');
  await srv.configure(rest);
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.regex(await waitFor('the end of the action', async () => /NotLoaded/.exec(await ask())?.input), /NotLoaded/);
});

test('a name ending in .so finds the .js or .mjs', async (t) => {
  const files = { 'modules/mine.js': plugin('mine'), 'modules/yours.mjs': plugin('yours') };
  const { code, stderr } = await check(t, `load_module modules/mine.so; load_module modules/yours.so;\n${EVENTS}`, files);
  t.is(code, 0, stderr);
});

test('a module that the prefix does not have is looked for in the installation', async (t) => {
  const { code, stderr } = await check(t, `load_module modules/srv_http_multi_header_module.so;\n${EVENTS}`);
  t.is(code, 0, stderr);
});

test('a pattern loads all modules that it matches and that fit, what others need first', async (t) => {
  const files = {
    'modules/a_x.js': plugin('a_x', { manifest: `needs: ['b_x'], directives: { a_x: directive({ in: ['main'] }) }` }),
    'modules/b_x.mjs': plugin('b_x', { manifest: `directives: { b_x: directive({ in: ['main'] }) }` }),
    'modules/c_x.js': plugin('c_x', { kind: 'control', manifest: `key: 'c'` }),
    'modules/d_y.js': 'this is not a program',
    'modules/notes_x.txt': '',
  };
  const lines = [
    'b_x.mjs',
    'srv_http_fault_inject_module.so',
    'srv_http_captcha_module.so',
    'srv_http_vts_module.so',
    '*_x.so',
    'srv_http_dyn_*_module.so',
  ];
  const conf = `${lines.map((name) => `load_module modules/${name};`).join(' ')}\n${EVENTS} a_x; b_x; add_more_header a b;`;
  const { stderr } = await check(t, conf, files);
  t.is(stderr.match(/emerg/g)?.length, 1, stderr);
  t.regex(stderr, /add "load_module modules\/srv_http_multi_header_module\.so;"/, 'the pattern has loaded no others');
});

test('a pattern loads first what opens contexts and provides services for others', async (t) => {
  const SERVICE = `class Greeter { static service = 'acme.greeter'; }`;
  const files = {
    'modules/a_x.js': plugin('a_x', { manifest: `directives: { word: directive({ in: ['greeting'], args: text() }) }` }),
    'modules/b_x.js': plugin('b_x', { imports: SERVICE, body: 'static services = [Greeter]; constructor(greeter) { greeter.greet(); }' }),
    'modules/c_x.js': plugin('c_x', {
      imports: SERVICE,
      manifest: `needs: [Greeter], directives: { greeting: directive({ in: ['main'], block: { context: 'greeting', directives: {} } }) }`,
    }),
    'modules/d_x.js': plugin('d_x', { imports: SERVICE, manifest: 'provides: [Greeter]', body: 'greet() {}' }),
  };
  const { code, stderr } = await check(t, `load_module modules/*_x.js;\n${EVENTS} greeting { word hello; }`, files);
  t.is(code, 0, stderr);
});

test('a setting without its directive is an error that names the shipped module to load', async (t) => {
  const { code, stderr } = await check(t, `load_module modules/srv_http_dyn_fault_inject_module.so;\n${EVENTS}`);
  t.is(code, 1);
  t.regex(stderr, /setting "http_dyn_fault_inject": no directive "fault_inject" in location in .*:1$/m);
  t.regex(stderr, /^ {4}add "load_module modules\/srv_http_fault_inject_module\.so;" at the top of the configuration$/m);
  const several = await check(t, `load_module modules/srv_http_dyn_captcha_module.so;\n${EVENTS}`);
  t.is(several.stderr.match(/srv_http_captcha_module\.so/g)?.length, 1, 'once for all its directives');
});

interface Fault {
  readonly what: string;
  readonly files?: Readonly<Record<string, string>>;
  readonly lines: string;
  readonly message: RegExp;
}

/** A module with these actions. */
const actions = (name: string, ...names: string[]): string =>
  plugin(name, {
    kind: 'core',
    imports: `import { action } from 'srv/module/control.js';`,
    body: names.map((_, at) => `a${at}() {}`).join('\n'),
  }) + names.map((one, at) => `action('${one}')(Plugin.prototype, 'a${at}');`).join('\n');

const FAULTS: readonly Fault[] = [
  {
    what: 'no such file',
    lines: 'load_module modules/nothing.so;',
    message:
      /cannot load module "modules\/nothing\.so" \(2: No such file or directory\) in .*:1\n[^]*searched: (.*\/modules\/nothing\.js, .*\/modules\/nothing\.mjs(, )?){2}$/m,
  },
  {
    what: 'not JavaScript',
    files: { 'modules/bad.js': 'this is not a program' },
    lines: 'load_module modules/bad.js;',
    message: /cannot load module ".*bad\.js": SyntaxError: Unexpected identifier 'is' at \/.*\/modules\/bad\.js:1:6 in .*:1$/m,
  },
  {
    what: 'a syntax error in a file that it imports',
    files: { 'modules/bad.js': `import './bad/part.js';`, 'modules/bad/part.js': 'const a = 1;\n  const a = 2;' },
    lines: 'load_module modules/bad.js;',
    message:
      /cannot load module ".*bad\.js": SyntaxError: Identifier 'a' has already been declared at \/.*\/modules\/bad\/part\.js:2:9 in .*:1$/m,
  },
  {
    what: 'it imports what the contract does not export',
    files: { 'modules/bad.js': `import { httpModul } from 'srv/module/manifest.js';` },
    lines: 'load_module modules/bad.js;',
    message:
      /cannot load module ".*bad\.js": SyntaxError: The requested module .* does not provide an export named 'httpModul' at \/.*bad\.js:1:10 in .*:1$/m,
  },
  {
    what: 'an error in a function that its top level calls',
    files: { 'modules/bad.js': 'function names(all) {\n  return all.map(String);\n}\nnames();' },
    lines: 'load_module modules/bad.js;',
    message:
      /cannot load module ".*bad\.js": TypeError: Cannot read properties of undefined \(reading 'map'\) at \/.*bad\.js:2:14 in .*:1$/m,
  },
  {
    what: 'a package.json says that it is CommonJS',
    files: { 'modules/bad.js': plugin('bad'), 'package.json': '{ "type": "commonjs" }' },
    lines: 'load_module modules/bad.js;',
    message:
      /cannot load module ".*bad\.js": Cannot use import statement outside a module at \/.*bad\.js:2:1 in .*:1\n[^]*call it bad\.mjs/m,
  },
  {
    what: 'it throws while it is loaded',
    files: { 'modules/bad.js': 'throw new Error("no licence");' },
    lines: 'load_module modules/bad.js;',
    message: /cannot load module ".*bad\.js": no licence at \/.*bad\.js:1:7 in .*:1$/m,
  },
  {
    what: 'not a module',
    files: { 'modules/bad.js': 'export class Something {}' },
    lines: 'load_module modules/bad.js;',
    message: /".*bad\.js" is not a module in .*:1\n[^]*decorated with @httpModule/m,
  },
  {
    what: 'two modules in one file',
    files: { 'modules/bad.js': `${plugin('one')}\nexport class Second {}\nhttpModule({ name: 'two', api: 1 })(Second);` },
    lines: 'load_module modules/bad.js;',
    message: /".*bad\.js" exports 2 modules in .*:1$/m,
  },
  {
    what: 'another api version',
    files: { 'modules/bad.js': plugin('late', { manifest: 'api: 7' }) },
    lines: 'load_module modules/bad.js;',
    message: /module "late" is made for version 7 of the module contract, this srv has version 1\.2 in .*:1$/m,
  },
  {
    what: 'a later minor version of the api',
    files: { 'modules/late.js': plugin('late', { manifest: `api: '1.99'` }) },
    lines: 'load_module modules/late.js;',
    message: /module "late" is made for version 1\.99 of the module contract, this srv has version 1\.2 in .*:1$/m,
  },
  {
    what: 'it imports what is not in the contract',
    files: { 'modules/bad.js': `import 'srv/module/../kernel/instance.js';` },
    lines: 'load_module modules/bad.js;',
    message:
      /cannot load module ".*bad\.js": "srv\/module\/\.\.\/kernel\/instance\.js" is not part of the module contract, which has: .* in .*:1$/m,
  },
  {
    what: 'it has an action twice',
    files: { 'modules/bad.js': actions('bad', 'acme.x', 'acme.x') },
    lines: 'load_module modules/bad.js;',
    message: /cannot load module ".*bad\.js": action "acme\.x" is declared twice, by "a0" and "a1" at \/.*bad\.js:\d+:\d+ in .*:1$/m,
  },
  {
    what: 'an action that another module has',
    files: { 'modules/a.js': actions('a', 'acme.x'), 'modules/b.js': actions('b', 'acme.y', 'acme.x') },
    lines: 'load_module modules/a.js;\nload_module modules/b.js;',
    message: /cannot load module ".*b\.js": action "acme\.x" is declared by both "a" and "b" in .*:2$/m,
  },
  {
    what: 'a key of routes that another module has',
    files: {
      'modules/a.js': plugin('a', { kind: 'control', manifest: `plane: 'data', key: 'acme'` }),
      'modules/b.js': plugin('b', { kind: 'control', manifest: `plane: 'data', key: 'acme'` }),
    },
    lines: 'load_module modules/a.js;\nload_module modules/b.js;',
    message: /cannot load module ".*b\.js": key "acme" is declared by both "a" and "b" in .*:2$/m,
  },
  {
    what: 'a module that it needs is missing',
    files: { 'modules/needy.js': plugin('needy', { manifest: `needs: ['srv_http_captcha_module']` }) },
    lines: 'load_module modules/needy.js;',
    message:
      /module "needy" needs "srv_http_captcha_module" in .*:1\n[^]*add before it: load_module modules\/srv_http_captcha_module\.so;$/m,
  },
  {
    what: 'what it needs comes too late',
    files: { 'modules/a.js': plugin('a', { manifest: `needs: ['b']` }), 'modules/b.js': plugin('b') },
    lines: 'load_module modules/a.js;\nload_module modules/b.js;',
    message: /module "a" needs "b" in .*:1$/m,
  },
  {
    what: 'loaded twice',
    files: { 'modules/a.js': plugin('a') },
    lines: 'load_module modules/a.js;\nload_module modules/a.so;',
    message: /module "a" is already loaded in .*:2\n[^]*remove this one/m,
  },
  {
    what: 'a standard module by name',
    lines: 'load_module modules/srv_http_proxy_module.so;',
    message: /module "srv_http_proxy_module" is already loaded in .*:1$/m,
  },
  {
    what: 'a name that another module has',
    files: { 'a/same.js': plugin('same'), 'b/same.js': plugin('same') },
    lines: 'load_module a/same.js;\nload_module b/same.js;',
    message: /module "same" is already loaded in .*:2\n[^]*the first is .*a\/same\.js/m,
  },
  {
    what: 'a directive that another module has',
    files: { 'modules/a.js': plugin('a', { manifest: `directives: { proxy_pass: directive({ in: ['location'], args: text() }) }` }) },
    lines: 'load_module modules/a.js;',
    message:
      /module "a" cannot be loaded: directive "proxy_pass" in context "location" is declared by both "srv_http_proxy_module" and "a" in .*:1$/m,
  },
  {
    what: 'a module of the control plane',
    files: { 'modules/a.js': plugin('a', { kind: 'control', manifest: `key: 'a'` }) },
    lines: 'load_module modules/a.js;',
    message: /module "a" belongs to the control plane and cannot be loaded in the data plane in .*:1$/m,
  },
  {
    what: 'a pattern without matches',
    lines: 'load_module modules/nothing_*.so;',
    message:
      /no module matches "modules\/nothing_\*\.so" in .*:1\n[^]*searched: .*\/modules\/nothing_\*\.so, .*\/modules\/nothing_\*\.so$/m,
  },
  {
    what: 'a pattern whose modules need another one',
    files: { 'modules/n_x.js': plugin('n_x', { manifest: `needs: ['acme_other']` }) },
    lines: 'load_module modules/*_x.so;',
    message: /module "n_x" needs "acme_other" in .*:1$/m,
  },
];

for (const { what, files = {}, lines, message } of FAULTS) {
  test(`rejected: ${what}`, async (t) => {
    const { code, stderr } = await check(t, `${lines}\n${EVENTS}`, files);
    t.is(code, 1);
    t.regex(stderr, message);
  });
}

test('every module that cannot be loaded is reported in one run', async (t) => {
  const { stderr } = await check(t, `load_module modules/x.so;\nload_module modules/y.so;\n${EVENTS}`);
  t.regex(stderr, /"modules\/x\.so" .*:1$/m);
  t.regex(stderr, /"modules\/y\.so" .*:2$/m);
});

test('an unknown directive that a shipped module provides gets a hint with the line to add', async (t) => {
  const { stderr } = await check(t, `${EVENTS}http { add_more_header a b; }\n`);
  t.regex(
    stderr,
    /unknown directive "add_more_header" in .*:2\n[^]*add "load_module modules\/srv_http_multi_header_module\.so;" at the top/,
  );
});

test('a reload that lacked the file of a module finds it when it is there', async (t) => {
  const without = `error_log logs/error.log notice;\n${EVENTS}`;
  const srv = await startSrv(t, without);
  await srv.configure(`load_module modules/later.mjs;\n${without}`);
  srv.signal('SIGHUP');
  await srv.waitForLog(/cannot load module "modules\/later\.mjs"[^]*stays as it was/);
  writeInto(srv.prefix, 'modules/later.mjs', plugin('later'));
  srv.signal('SIGHUP');
  t.truthy(await srv.waitForLog(/reconfigured/));
});

test('a reload can load a module, and let go of it again', async (t) => {
  const body = `
    constructor() { this.started = false; }
    start() { this.started = true; }
    stop() { this.started = false; }
    compile(scope) { return scope.conf.greet && { content: request => request.send(200, scope.conf.greet + ' ' + this.started) }; }`;
  const files = {
    'modules/greet.js': plugin('greet', { manifest: `directives: { greet: directive({ in: ['location'], args: text() }) }`, body }),
  };
  const without = `error_log logs/error.log notice;\n${EVENTS}http { server { listen 127.0.0.1:%%PORT_web%%; location / { return 204; } } }`;
  const srv = await startSrv(t, without, { files });
  await srv.configure(`load_module modules/greet.js;\n${without.replace('return 204;', 'greet hello;')}`);
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  t.is((await get(srv.port('web'), '/')).body, 'hello true');
  await srv.configure(without);
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured[^]*reconfigured/);
  t.is((await get(srv.port('web'), '/')).status, 204);
});

test('a module that never finishes loading is rejected after a while', async (t) => {
  const files = { 'package.json': '{ "type": "module" }', 'modules/never.js': 'await new Promise(() => {});\n' };
  const { code, stderr } = await check(t, `load_module modules/never.js;\n${EVENTS}`, files);
  t.is(code, 1);
  t.regex(stderr, /^srv: \[emerg\] cannot load module ".*\/never\.js": it did not finish loading within 10 s in .*srv\.conf:1$/m);
});

test("of nginx's modules one that is built in is accepted, others are named as such", async (t) => {
  t.is((await check(t, `load_module modules/ngx_stream_module.so;\n${EVENTS}stream {}\n`)).code, 0);
  const { code, stderr } = await check(t, `load_module /usr/lib/nginx/modules/ngx_http_echo_module.so;\n${EVENTS}`);
  t.is(code, 1);
  t.regex(stderr, /cannot load module "\/usr\/lib\/nginx\/modules\/ngx_http_echo_module\.so"[^]*remove this line/);
});
