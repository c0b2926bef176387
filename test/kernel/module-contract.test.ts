/** What a module says wrongly about itself is said when it is loaded: with its file, the line that loads it, and what would be right. */
import test, { type ExecutionContext } from 'ava';
import { check, type Check } from '../harness/check.js';
import { plugin, type PluginSource } from '../harness/plugins.js';

/** Tests a configuration without an `http` block that loads the module: nothing of it is ever asked for. */
function load(t: ExecutionContext, source: string, more = ''): Promise<Check> {
  return check(t, `load_module modules/acme.mjs; ${more}\nevents {}`, { 'modules/acme.mjs': source });
}

const spec = (text: string): PluginSource => ({
  manifest: `directives: { greet: ${text} }`,
  imports: `import { flag } from 'srv/module/args.js';`,
});

const IS_LOADED: readonly (readonly [what: string, source: PluginSource])[] = [
  ['a directive without arguments', spec(`{ in: ['location'] }`)],
  [
    'a context that it opens itself',
    { manifest: `directives: { farm: { in: ['http'], block: 'farm' }, cow: { in: ['farm'], args: text() } }` },
  ],
  [
    'a default with a variable of its own',
    {
      manifest: `directives: { greet: { in: ['http'], args: template(), default: '$acme' } }, variables: { acme: () => 'x' }`,
      imports: `import { template } from 'srv/module/args.js';`,
    },
  ],
  [
    'actions with the names of hooks',
    {
      kind: 'core',
      imports: `import { action } from 'srv/module/control.js';`,
      body: `compile() {} members() {}
        static { for (const name of ['compile', 'members']) action('acme.' + name)(this.prototype, name); }`,
    },
  ],
];

for (const [what, source] of IS_LOADED) {
  test(`loaded: ${what}`, async (t) => {
    const { code, stderr } = await load(t, plugin('acme', source));
    t.is(code, 0, stderr);
  });
}

/** What a route is declared with, what is wrong with it, the hint. */
const BAD_ROUTES: readonly (readonly [route: string, reason: string, hint: string])[] = [
  [
    `'GET', 'x', { summary: 'x', responses: { 204: null } }`,
    'GET "x": invalid path',
    'it is empty, or starts with a slash: /things/:id; a parameter is a whole segment',
  ],
  [
    `'FETCH', '/x', { summary: 'x', responses: { 204: null } }`,
    'FETCH "/x": unknown method "FETCH"',
    'one of: GET, POST, PUT, PATCH, DELETE',
  ],
  [`'POST', '/x'`, 'POST "/x": the schemas are missing', ''],
  [
    `'POST', '/x', { summary: 'x', bdoy: Type.Object({}), responses: { 204: null } }`,
    'POST "/x": unknown key "bdoy"',
    'did you mean "body"?',
  ],
  [`'POST', '/x', { summary: 'x', body: { a: 'string' }, responses: { 204: null } }`, 'POST "/x": "body" must be a schema', ''],
  [`'GET', '/x', { summary: 'x', responses: { 200: 'x' } }`, 'GET "/x": "responses.200" must be a schema', ''],
  [`'GET', '/x', { summary: 'x' }`, 'GET "/x": "responses" must be schemas by status', ''],
  [`'GET', '/x', { responses: { 204: null } }`, 'GET "/x": "summary" must be a text', ''],
  [
    `'PUT', '/x', { summary: 'x', query: Type.Object({ dry_run: Type.String() }), responses: { 204: null } }`,
    'PUT "/x": "query" must not have the parameter "dry_run"',
    'srv reads it for all routes',
  ],
  [`'GET', '/x', { summary: 'x', responses: { 204: null }, headers: ['Etag'] }`, 'GET "/x": unknown header "Etag"', 'did you mean "ETag"?'],
  [`'GET', '/x', { summary: 'x', responses: { 204: null }, errors: [{ code: 'A' }] }`, 'GET "/x": "errors" must be codes', ''],
];

/** A set of fields for a setting. */
const SET = `{ fields: { root: {} }, directives: ['root'], read: () => ({}), write: () => [] }`;

const IS_REFUSED: readonly (readonly [what: string, source: PluginSource, reason: string, hint: string])[] = [
  ['an unknown context', spec(`{ in: ['location', 'srver'] }`), 'directive "greet": unknown context "srver"', 'did you mean "server"?'],
  [
    'a context that nothing is like',
    spec(`{ in: ['zoo'] }`),
    'directive "greet": unknown context "zoo"',
    'if another module opens it, load that one first',
  ],
  ['a context with two forms', spec(`{ in: ['if'] }`), 'directive "greet": unknown context "if"', 'one of: if in server, if in location'],
  [
    'no context',
    spec('{ in: [] }'),
    'directive "greet": "in" must name at least one context',
    "write where it is allowed, as in: ['http', 'server', 'location']",
  ],
  [
    'a zone that no context can have',
    {
      manifest: `directives: { greet: { in: ['http', 'location'], args: { zone: requiredParam('zone', zone()) } } }`,
      imports: `import { requiredParam, zone } from 'srv/module/args.js';`,
    },
    'directive "greet": a zone cannot be declared in context "location"',
    'declare it in one of: main, http, upstream, stream, stream upstream',
  ],
  [
    'a zone that nodes share, without the argument for it',
    {
      manifest: `directives: { greet: { in: ['http'], args: { zone: requiredParam('zone', zone({ sync: 'count' })) } } }`,
      imports: `import { requiredParam, zone } from 'srv/module/args.js';`,
    },
    'directive "greet": a zone with "sync" needs an argument "sync" of type zoneSync()',
    'args: { zone: zone({ sync: … }), sync: zoneSync() }',
  ],
  ['no spec', spec('5'), 'directive "greet": not a directive spec', "write it as directive({ in: ['location'], args: flag() })"],
  [
    'a default that its argument refuses',
    spec(`{ in: ['http'], args: flag(), default: 'maybe' }`),
    'default "maybe" of directive "greet" is rejected: invalid value "maybe" in "greet" directive, it must be "on" or "off"',
    '',
  ],
  [
    'an empty default',
    { manifest: `directives: { greet: { in: ['http'], args: text(), default: '' } }` },
    'default "" of directive "greet" is rejected: default of directive "greet": unexpected ";"',
    `it is written as in a file: default: '""' is an empty text`,
  ],
  [
    'a default with an unknown variable',
    {
      manifest: `directives: { greet: { in: ['http'], args: template(), default: '$nobody' } }`,
      imports: `import { template } from 'srv/module/args.js';`,
    },
    'default "$nobody" of directive "greet" is rejected: unknown "nobody" variable',
    '',
  ],
  [
    'a default that is no text',
    spec(`{ in: ['http'], args: flag(), default: true }`),
    'directive "greet": "default" must be a string',
    'write it in quotes',
  ],
  [
    'an argument type that was not made',
    spec(`{ in: ['http'], args: flag }`),
    'directive "greet": "args" is not an argument type',
    'the functions in srv/module/args.js make them: flag(), text(), number({ min: 1 })',
  ],
  [
    'an argument type in a record',
    spec(`{ in: ['http'], args: { name: 'text' } }`),
    'directive "greet": argument "name" is not an argument type',
    'the functions in srv/module/args.js make them: flag(), text(), number({ min: 1 })',
  ],
  [
    'a misspelt key of a spec',
    spec(`{ in: ['http'], defualt: 'x' }`),
    'directive "greet": unknown key "defualt"',
    'did you mean "default"?',
  ],
  [
    'dynamic with an argument that has no JSON form',
    spec(`{ in: ['http'], args: { kind: { kind: 'text', form: 'kind', parse: (text) => text } } }`),
    'directive "greet": argument "kind" must have "print" and "json"',
    '',
  ],
  [
    'a directive of a typed block that is not for that block',
    spec(`{ in: ['http'], block: { context: 'farm', directives: { cow: { in: ['frm'] } } } }`),
    'directive "greet": directive "cow" of the block must have "farm" in its "in"',
    '',
  ],
  [
    'a typed block beside a single argument',
    spec(`{ in: ['http'], args: flag(), block: { context: 'farm', directives: {} } }`),
    'directive "greet": "args" of a directive with a typed block must be an object',
    "write it as args: { name: text('name') }",
  ],
  [
    'dynamic with an unknown argument',
    spec(`{ in: ['http'], dynamic: ['sise'], args: { size: flag() } }`),
    'directive "greet": "dynamic" names an unknown argument "sise"',
    'did you mean "size"?',
  ],
  [
    'documentation of an unknown argument',
    spec(`{ in: ['http'], args: { size: flag() }, argDocs: { sise: 'Bytes.' } }`),
    'directive "greet": "argDocs" names an unknown argument "sise"',
    'did you mean "size"?',
  ],
  ['many: false', spec(`{ in: ['http'], many: false }`), 'directive "greet": "many" must be true', 'leave it out instead'],
  [
    'a directive name with a character that has a meaning',
    { manifest: `directives: { 'gr;eet': { in: ['http'] } }` },
    'invalid directive name "gr;eet"',
    'a letter, then letters, digits and underscores, all in lower case',
  ],
  [
    'an empty directive name',
    spec(`{ name: '', in: ['http'] }`),
    'invalid directive name ""',
    'a letter, then letters, digits and underscores, all in lower case',
  ],
  [
    'an unknown inheritance',
    spec(`{ in: ['http'], inherit: 'apend' }`),
    'directive "greet": unknown "inherit" value "apend"',
    'did you mean "append"?',
  ],
  [
    'directives in a list',
    { manifest: 'directives: []' },
    '"directives" must be an object',
    "write it as directives: { greet: directive({ in: ['location'] }) }",
  ],
  ['an unknown phase', { manifest: 'phases: { acces: 1 }' }, 'unknown phase "acces"', 'did you mean "access"?'],
  [
    'an order that is no number',
    { manifest: `phases: { access: 'first' }` },
    'the order in phase "access" must be a number',
    'lower ones come first, 100 is the default',
  ],
  [
    'an unknown key',
    { manifest: 'foo: 1' },
    'unknown key in the manifest "foo"',
    'one of: name, api, plane, needs, provides, directives, settings, after, before, phases, variables',
  ],
  [
    'a key of another kind of module',
    { kind: 'core', manifest: 'phases: {}' },
    'unknown key in the manifest "phases"',
    'one of: name, api, plane, needs, provides, directives, settings',
  ],
  ['an unknown plane', { manifest: `plane: 'foo'` }, 'unknown plane "foo"', 'one of: data, control, both'],
  [
    'needs that are no list',
    { manifest: `needs: 'srv_http_proxy_module'` },
    '"needs" must be an array of module names',
    "write it as needs: ['srv_http_proxy_module']",
  ],
  [
    'services that are none',
    { manifest: `provides: ['acme.sessions']` },
    '"provides" must be an array of services',
    "a service is a class with a name: static service = 'acme.sessions'",
  ],
  [
    'an order by what is no name',
    { manifest: 'after: 5' },
    '"after" must be a module name or an array of them',
    "write it as after: 'srv_http_access_module'",
  ],
  ['a misspelt hook', { body: 'complie() {}' }, 'unknown hook "complie"', 'did you mean "compile"? If not, choose another name'],
  [
    'a hook with another case',
    { body: 'compileTLS() {}' },
    'unknown hook "compileTLS"',
    'did you mean "compileTls"? If not, choose another name',
  ],
  [
    'a misspelt field',
    { body: 'variable = { acme: () => 1 };' },
    'unknown hook "variable"',
    'did you mean "variables"? If not, choose another name',
  ],
  ...(['compile', 'compileServer', 'balancer', 'members'] as const).map((hook): (typeof IS_REFUSED)[number] => [
    `a hook of HTTP modules in another one: ${hook}`,
    { kind: 'core', body: `${hook}() {}` },
    `"${hook}" is a hook of HTTP modules, this is a coreModule`,
    'declare the class with @httpModule, or give the method another name',
  ]),
  ['a hook that is no function', { body: 'start = 5;' }, '"start" must be a function', ''],
  [
    'an invalid key of routes',
    { kind: 'control', manifest: `plane: 'data', key: 'a/b'` },
    'invalid "key" "a/b"',
    'a letter, then letters, digits and underscores, all in lower case',
  ],
  [
    'a route twice',
    {
      kind: 'control',
      manifest: `plane: 'data', key: 'a'`,
      imports: `import { route } from 'srv/module/control.js';`,
      body: `a() {} b() {} static {
        route('GET', '/:x/c', { summary: 'c', responses: { 204: null } })(this.prototype, 'a', {});
        route('GET', '/:y/c/', { summary: 'c', responses: { 204: null } })(this.prototype, 'b', {});
      }`,
    },
    'route GET "/:y/c/" is the same as GET "/:x/c"',
    'a call could not tell them apart',
  ],
  ...BAD_ROUTES.map(([route, reason, hint]): (typeof IS_REFUSED)[number] => [
    `a route with ${route}`,
    {
      kind: 'control',
      manifest: `plane: 'data', key: 'a'`,
      imports: `import { route } from 'srv/module/control.js'; import { Type } from 'srv/module/schema.js';`,
      body: `a() {} static { route(${route})(this.prototype, 'a', {}); }`,
    },
    `route ${reason}`,
    hint,
  ]),
  [
    'an action without its method',
    {
      kind: 'core',
      imports: `import { action } from 'srv/module/control.js';`,
      body: `static { action('acme.a')(this.prototype, 'nope', {}); }`,
    },
    'action "acme.a": the class has no method "nope"',
    'put the decorator directly before its method',
  ],
  [
    'an argument behind one that may be absent',
    {
      imports: `import { optional } from 'srv/module/args.js';`,
      manifest: `directives: { w: directive({ in: ['http'], args: { a: optional(text()), b: text() } }) }`,
    },
    'directive "w": argument "b" follows "a", which may be absent',
    'put optional() arguments last',
  ],
  [
    'an argument behind all others',
    {
      imports: `import { rest } from 'srv/module/args.js';`,
      manifest: `directives: { w: directive({ in: ['http'], args: { a: rest(text()), b: text() } }) }`,
    },
    'directive "w": argument "b" follows "a"',
    'rest() takes all words that follow: put it last',
  ],
  [
    'a variable that no text can name',
    { manifest: `variables: { 'Foo-Bar': () => 'x' }` },
    'invalid variable name "Foo-Bar"',
    'letters, digits and underscores: what may follow a $',
  ],
  [
    'a variable that is no function',
    { manifest: `variables: { acme: 'x' }` },
    'variable "acme" must be a function',
    'it gets the request and returns its text',
  ],
  [
    'a setting of a directive that is not dynamic',
    { manifest: `settings: [{ key: 'acme', summary: 'x', engine: 'http', location: [${SET}] }]` },
    'setting "acme": directive "root" is not dynamic',
    '',
  ],
  [
    'a setting of a directive that no module has',
    { manifest: `settings: [{ key: 'acme', summary: 'x', engine: 'http', global: [${SET}] }]`.replace(`'root'`, `'acme'`) },
    'setting "acme": no directive "acme" in global',
    'load the module that has it as well',
  ],
  [
    'settings that share a directive',
    { manifest: `settings: [{ key: 'acme', summary: 'x', engine: 'http', location: [${SET}, { ...${SET}, fields: { other: {} } }] }]` },
    'setting "acme": directive "root" belongs to two sets of "location"',
    'put the fields into one',
  ],
  [
    'a setting without a key',
    { manifest: `settings: [{ summary: 'x', engine: 'http' }]` },
    'setting "undefined": invalid "key"',
    'a letter, then letters, digits and underscores, all in lower case',
  ],
  [
    'a set of fields that cannot be read',
    { manifest: `settings: [{ key: 'acme', summary: 'x', engine: 'http', location: [{ fields: {}, directives: ['root'] }] }]` },
    'setting "acme": "location" must be an array of sets of fields',
    'with fields, directives, read, write',
  ],
  [
    'routes without a key',
    { kind: 'control', manifest: '' },
    'the manifest has no "key"',
    'it is the first part of the paths of its routes, below /v1/',
  ],
];

for (const [what, source, reason, hint] of IS_REFUSED) {
  test(`refused: ${what}`, async (t) => {
    const { code, stderr, prefix } = await load(t, plugin('acme', source));
    t.is(code, 1);
    t.true(
      stderr.startsWith(`srv: [emerg] cannot load module "${prefix}/modules/acme.mjs": ${reason} in ${prefix}/conf/srv.conf:1\n`),
      stderr,
    );
    if (hint !== '') t.true(stderr.includes(`\n    ${hint}\n`), stderr);
  });
}

test('refused: a variable that srv has', async (t) => {
  const { stderr, prefix } = await load(t, plugin('acme', { manifest: `variables: { host: () => 'x' }` }));
  t.true(
    stderr.startsWith(
      `srv: [emerg] cannot load module "${prefix}/modules/acme.mjs": the duplicate "host" variable in ${prefix}/conf/srv.conf:1\n`,
    ),
    stderr,
  );
  t.regex(stderr, /\n {4}choose another name: srv has a variable of this one\n/);
});

test('refused: a variable that another module has, declared or a field', async (t) => {
  const files = {
    'modules/first.mjs': plugin('first', { manifest: `variables: { shade: () => 'x' }` }),
    'modules/second.mjs': plugin('second', { body: `variables = { shade: () => 'y' }; variablePrefixes = { http_: () => () => 'z' };` }),
  };
  const { code, stderr } = await check(t, 'load_module modules/first.mjs;\nload_module modules/second.mjs;\nevents {}', files);
  t.is(code, 1);
  t.regex(stderr, /second\.mjs": the duplicate "shade" variable in .*:2\n[^]*choose another name: "first" has a variable of this one\n/);
  t.regex(stderr, /second\.mjs": the duplicate "http_" variable in .*:2\n[^]*choose another name: srv has a variable of this one\n/);
});

test('refused: a name other than that of the file', async (t) => {
  const { code, stderr, prefix } = await load(t, plugin('acme_http_greeting_module'));
  t.is(code, 1);
  t.true(
    stderr.startsWith(
      `srv: [emerg] cannot load module "${prefix}/modules/acme.mjs": its manifest has the name "acme_http_greeting_module" in `,
    ),
  );
  t.regex(stderr, /\n {4}both have to be the same: "acme"\n/);
});

test('refused: a manifest without a version of the contract', async (t) => {
  const { stderr } = await load(t, plugin('acme', { manifest: 'api: undefined' }));
  t.regex(stderr, /^srv: \[emerg\] module "acme" has no "api" in its manifest in .*:1\n[^]*\n {4}write it as api: 1\n/);
});

test('refused: a part of the contract that there is not; those there are', async (t) => {
  const { stderr } = await load(t, plugin('acme', { imports: `import 'srv/module/nope.js';` }));
  t.regex(stderr, /"srv\/module\/nope\.js" is not part of the module contract, which has: .*\bhttp\.js, /);
  const misspelt = await load(t, plugin('acme', { imports: `import 'srv/module/lg.js';` }));
  t.regex(misspelt.stderr, /"srv\/module\/lg\.js" is not part of the module contract: did you mean "srv\/module\/log\.js"\? in /);
  t.notRegex(misspelt.stderr, /the error log/);
  const inner = await load(t, plugin('acme', { imports: `import 'srv/core/log/error-log.js';` }));
  t.regex(inner.stderr, /modules import "srv\/module\/…" and "srv\/toolkit\/…", nothing else of srv/);
  const missing = await load(t, plugin('acme', { imports: `import 'no-such-package';` }));
  t.regex(missing.stderr, /install it in the folder of the module, or in one above: npm install no-such-package/);
  const moved = await load(t, plugin('acme', { imports: `import 'srv/module/map.js';` }));
  t.regex(moved.stderr, /"srv\/module\/map\.js" is not part of the module contract: import "srv\/toolkit\/map\.js"/);
});

for (const [needed, hint] of [
  ['srv_http_sendmsg_module', 'add before it: load_module modules/srv_http_sendmsg_module.so;'],
  ['w_none', 'add before it: the load_module line of "w_none"'],
] as const) {
  test(`refused: a module without what it needs: ${needed}`, async (t) => {
    const { stderr } = await load(t, plugin('acme', { manifest: `needs: ['${needed}']` }));
    t.true(stderr.includes(`module "acme" needs "${needed}"`) && stderr.includes(`\n    ${hint}\n`), stderr);
  });
}

test('refused: a decorator without a manifest', async (t) => {
  const { code, stderr, prefix } = await load(t, `import { httpModule } from 'srv/module/manifest.js'; export class A {} httpModule()(A);`);
  t.is(code, 1);
  t.true(stderr.startsWith(`srv: [emerg] "${prefix}/modules/acme.mjs" has no name in its manifest in ${prefix}/conf/srv.conf:1\n`), stderr);
  t.regex(stderr, /\n {4}the decorator is given a manifest: \{ name: 'acme', api: 1 \}\n/);
});

test('everything that is wrong with a module is told in one run, and that of others too', async (t) => {
  const source = plugin('acme', { manifest: `plane: 'foo', phases: { acces: 1 }, directives: { one: { in: [] }, two: 5 }` });
  const { stderr } = await load(t, source, 'load_module modules/nothing.so;');
  t.deepEqual(
    Array.from(stderr.matchAll(/\[emerg\] cannot load module "[^"]*[/](?<reason>.*) in /g), ({ groups }) => groups?.['reason']),
    [
      'acme.mjs": unknown plane "foo"',
      'acme.mjs": directive "one": "in" must name at least one context',
      'acme.mjs": directive "two": not a directive spec',
      'acme.mjs": unknown phase "acces"',
      'nothing.so" (2: No such file or directory)',
    ],
  );
});
