/** Exceptions of a module's `compile`, and handlers that would never be called, are reported at the block that it was to compile. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { check, type Check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { startSrv } from '../harness/srv.js';

const MANIFEST = `directives: { greet: directive({ in: ['server', 'location'] }) }`;

/** Line 4 is a server, line 5 a location in it. */
const CONF = `load_module modules/acme.mjs;
events {}
http {
  server { listen 127.0.0.1:%%PORT_web%%; greet;
    location / { return 204; }
  }
}`;

function load(t: ExecutionContext, body: string): Promise<Check> {
  return check(t, CONF, { 'modules/acme.mjs': plugin('acme', { manifest: MANIFEST, body }) });
}

const IS_REFUSED: readonly (readonly [what: string, body: string, reason: string, line: number, hint: string])[] = [
  [
    'an unknown handler',
    'compile() { return { contnt: () => 200 }; }',
    '"compile" of module "acme" returns an unknown handler "contnt"',
    5,
    'did you mean "content"?',
  ],
  [
    'a handler with another name',
    'compile() { return { whenever: () => -1 }; }',
    '"compile" of module "acme" returns an unknown handler "whenever"',
    5,
    'one of: post_read, server_rewrite, rewrite, preaccess, access, precontent, content, defaultContent, connect, limitsBody, error, autoRedirect, memberRequest, memberFailure, memberResponse, memberReplaced, memberAttempt, memberAttemptEnd, header, log, explain',
  ],
  [
    'a promise that rejects',
    `async compile() { throw new Error('no'); }`,
    '"compile" of module "acme" must return handlers',
    5,
    'it returned a promise: it must not be async; read files with scope.file, and wait in "start"',
  ],
  [
    'a limit that is not true',
    'compile() { return { limitsBody: false }; }',
    '"limitsBody" of module "acme" must be true',
    5,
    'leave it out instead',
  ],
  [
    'a misspelt handler of servers in a location',
    'compile() { return { postread: () => -1 }; }',
    '"compile" of module "acme" returns an unknown handler "postread"',
    5,
    'did you mean "post_read"?',
  ],
  [
    'a handler of servers in a location',
    'compile() { return { post_read: () => -1 }; }',
    '"compile" of module "acme" returns an unknown handler "post_read"',
    5,
    'return it from "compileServer"',
  ],
  [
    'a handler of locations in a server',
    'compileServer() { return { access: () => -1 }; }',
    '"compileServer" of module "acme" returns an unknown handler "access"',
    4,
    'return it from "compile"',
  ],
  [
    'a handler that is not a function',
    `compile() { return { content: 'hello' }; }`,
    'handler "content" of module "acme" must be a function',
    5,
    'it gets the request: (request) => …',
  ],
  [
    'an explanation of a handler with another name',
    `compile() { return { explain: { acces: 'run' } }; }`,
    '"explain" of module "acme" has an unknown handler "acces"',
    5,
    'did you mean "access"?',
  ],
  [
    'an explanation that is not a function',
    `compile() { return { access: () => -1, explain: { access: true } }; }`,
    'explanation of "access" of module "acme" must be a function or "run"',
    5,
    'it gets request and notes: (request, notes) => …',
  ],
  [
    'explanations that are not an object',
    `compile() { return { explain: 'run' }; }`,
    '"explain" of module "acme" must be an object',
    5,
    'an object like { access: (request, notes) => … } is expected',
  ],
  [
    'a promise',
    'async compile() { return {}; }',
    '"compile" of module "acme" must return handlers',
    5,
    'it returned a promise: it must not be async; read files with scope.file, and wait in "start"',
  ],
  [
    'what it throws',
    `compile() { throw new Error('boom'); }`,
    '"compile" of module "acme" failed: boom',
    5,
    'the code of the module has thrown this: the [crit] line of the log has the stack',
  ],
  [
    'what it throws for TLS',
    `compileTls() { throw new Error('boom'); }`,
    '"compileTls" of module "acme" failed: boom',
    4,
    'the code of the module has thrown this: the [crit] line of the log has the stack',
  ],
];

for (const [what, body, reason, line, hint] of IS_REFUSED) {
  test(`rejected: ${what}`, async (t) => {
    const { code, stderr, prefix } = await load(t, body);
    t.is(code, 1);
    t.true(stderr.includes(`srv: [emerg] ${reason} in ${prefix}/conf/srv.conf:${line}\n`), stderr);
    t.true(stderr.includes(`\n    ${hint} (${prefix}/modules/acme.mjs)\n`), stderr);
  });
}

for (const [what, body, reason, hint] of [
  [
    'an unknown handler',
    'compile() { return { acces: () => -1 }; }',
    '"compile" of module "acme" returns an unknown handler "acces"',
    'did you mean "access"?',
  ],
  [
    'a handler that is not a function',
    `compile() { return { content: 'a' }; }`,
    'handler "content" of module "acme" must be a function',
    'it gets the session: (session) => …',
  ],
  [
    'a promise',
    'async compile() {}',
    '"compile" of module "acme" must return handlers',
    'it returned a promise: it must not be async; read files with scope.file, and wait in "start"',
  ],
  [
    'what it throws',
    `compile() { throw new Error('boom'); }`,
    '"compile" of module "acme" failed: boom',
    'the code of the module has thrown this: the [crit] line of the log has the stack',
  ],
  [
    'settings of TLS',
    'compileTls() { return 1; }',
    '"compileTls" of module "acme" must return settings',
    'an object like { cert, key } is expected',
  ],
] as const) {
  test(`rejected in stream: ${what}`, async (t) => {
    const conf = 'load_module modules/acme.mjs; events {}\nstream { server { listen 127.0.0.1:%%PORT_a%%; return a; } }';
    const { code, stderr, prefix } = await check(t, conf, { 'modules/acme.mjs': plugin('acme', { kind: 'stream', body }) });
    t.is(code, 1);
    t.true(stderr.includes(`srv: [emerg] ${reason} in ${prefix}/conf/srv.conf:2\n`), stderr);
    t.true(stderr.includes(`\n    ${hint} (${prefix}/modules/acme.mjs)\n`), stderr);
  });
}

for (const [what, body, reason, line] of [
  ['compile', 'compile() { for (;;); }', '"compile" of module "acme" failed: it did not return within 0.1 s', 5],
  ['compileServer', 'compileServer() { for (;;); }', '"compileServer" of module "acme" failed: it did not return within 0.1 s', 4],
  ['constructor', 'constructor() { for (;;); }', 'acme.mjs": its constructor failed: it did not return within 0.1 s', 1],
] as const) {
  test(`a ${what} that loops is an error with the name of the module, once for all locations`, async (t) => {
    const conf = CONF.replace('location / { return 204; }', 'location / { return 204; } location /a { return 204; }');
    const files = { 'modules/acme.mjs': plugin('acme', { manifest: MANIFEST, body }) };
    const { code, stderr, prefix } = await check(t, conf, files, { callMs: 100 });
    t.is(code, 1);
    t.true(stderr.includes(`${reason} in ${prefix}/conf/srv.conf:${line}\n`), stderr);
  });
}

test('the log has the stack of what compile throws', async (t) => {
  const { prefix } = await load(t, `compile() { throw new Error('boom'); }`);
  t.regex(
    readFileSync(join(prefix, 'logs/error.log'), 'utf8'),
    /\[crit\] .*"compile" of module "acme" failed: Error: boom.* at Plugin\.compile .*acme\.mjs:/,
  );
});

test('nothing, however it is said, is not an error', async (t) => {
  const { code, stderr } = await load(t, `compile() { return false; } compileServer() { return null; }`);
  t.is(code, 0, stderr);
});

test('what it rejects is said at the directives meant, all of it', async (t) => {
  const source = plugin('acme', {
    imports: `import { LogFiles } from 'srv/module/log-files.js';`,
    manifest: `directives: { greet: directive({ in: ['server', 'location'], args: text('file'), many: true }) }`,
    body: `static services = [LogFiles];
  constructor(files) { this.files = files; }
  compile(scope) {
    scope.each(scope.lines('greet'), (line) => {
      try { this.files.open(line.args[0].text); } catch (error) { scope.fail(error.message, line, 'make the folder'); }
    });
  }`,
  });
  const conf = CONF.replace('greet;', 'greet /nodir/a; greet /nodir/b;');
  const { stderr, prefix } = await check(t, conf, { 'modules/acme.mjs': source });
  for (const file of ['/nodir/a', '/nodir/b']) {
    const message = `open() "${file}" failed (2: No such file or directory)`;
    t.true(stderr.includes(`srv: [emerg] ${message} in ${prefix}/conf/srv.conf:4\n`), stderr);
  }
  t.is(stderr.match(/\[emerg\]/g)?.length, 2, stderr);
  t.regex(stderr, /\n {4}4 \| .*\n {6}\| +\^{5}\n {4}make the folder\n/);
});

test('a reload with a module that throws leaves the current configuration', async (t) => {
  const files = {
    'modules/acme.mjs': plugin('acme', { manifest: MANIFEST, body: `compile({ conf }) { if (conf.greet) throw new Error('boom'); }` }),
  };
  const srv = await startSrv(t, CONF.replace('greet;', ''), { files });
  await srv.configure(CONF);
  srv.signal('SIGHUP');
  await srv.waitForLog(/\[emerg\] .*"compile" of module "acme" failed: boom in .*srv\.conf:5/);
  await srv.waitForLog(/the current configuration stays as it was/);
  t.is((await get(srv.port('web'), '/')).status, 204);
});

test('a stack names the lines of the source that the module was built from', async (t) => {
  // One mapping: the first character of line 7 of the file is the first one of line 42 of the source.
  const map = { version: 3, sources: ['acme.mts'], sourcesContent: [null], names: [], mappings: ';;;;;;AAyCA' };
  const lines = [
    `import { httpModule } from 'srv/module/manifest.js';`,
    'export class Plugin {',
    'compile() {',
    'const nothing = undefined;',
    '',
    '',
    'nothing.at(0); }',
    '}',
    `httpModule({ name: 'acme', api: 1, directives: { greet: { in: ['server', 'location'] } } })(Plugin);`,
    `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`,
  ];
  const checked = await check(t, CONF, { 'modules/acme.mjs': lines.join('\n') });
  t.regex(checked.log(), /"compile" of module "acme" failed: TypeError.*acme\.mts:42:1/);
});

test('a variable that is not a text costs its request a 500, and is logged with the name of the module', async (t) => {
  const source = plugin('acme', {
    manifest: `variables: { acme_number: () => 5, acme_later: async () => { throw new Error('later'); }, acme_fine: () => 'fine' }`,
    body: 'variablePrefixes = { acme_of_: (rest) => () => rest === "text" ? rest : null };',
  });
  const names = ['acme_number', 'acme_later', 'acme_of_x', 'acme_fine', 'acme_of_text'];
  const places = names.map((name) => `location /${name} { return 200 $${name}; }`);
  const conf = `load_module modules/acme.mjs; events {} http { server { listen 127.0.0.1:%%PORT_web%%; ${places.join(' ')} } }`;
  const srv = await startSrv(t, conf, { files: { 'modules/acme.mjs': source } });
  for (const name of names.slice(0, 3)) {
    t.is((await get(srv.port('web'), `/${name}`)).status, 500, name);
    await srv.waitForLog(new RegExp(`variable "${name}" of module "acme" must be a string or undefined, not (5|null|Promise)`));
  }
  for (const name of names.slice(3)) t.is((await get(srv.port('web'), `/${name}`)).status, 200, name);
});

for (const [what, returned, reason] of [
  ['a promise', 'Promise.reject(new Error("no"))', 'it must return an object of functions'],
  ['no functions', '({ acme_shade: 5 })', 'variable "acme_shade" must be a function'],
] as const) {
  test(`rejected: values of variables that are ${what}`, async (t) => {
    const source = plugin('acme', {
      manifest: `directives: { shade: { in: ['http'], args: text(), defines: () => ['acme_shade'] } }`,
      body: `compileVariables() { return ${returned}; }`,
    });
    const conf =
      'load_module modules/acme.mjs; events {} http { shade x; server { listen 127.0.0.1:%%PORT_web%%; return 200 $acme_shade; } }';
    const { code, stderr } = await check(t, conf, { 'modules/acme.mjs': source });
    t.is(code, 1);
    t.true(stderr.startsWith(`srv: [emerg] "compileVariables" of module "acme" failed: ${reason} in `), stderr);
  });
}
