/** Text that a caller sends for the block of a location, an upstream or a server stays in that block, whatever it says. */
import test from 'ava';
import { get } from '../harness/client.js';
import { errorOf } from './api-client.js';
import { sharedNode, type Node } from './node.js';

const MODULES = ['location', 'dyn_upstream', 'dyn_server', 'config'];
const shared = sharedNode({
  main: MODULES.map((name) => `load_module modules/srv_http_${name}_module.so;`).join('\n'),
  controlMain: MODULES.map((name) => `load_module modules/srv_http_${name}_api_module.so;`).join('\n'),
  server: 'server_name file.org; location / { return 200 "file"; }',
});

/** The calls with a field of text. */
const CALLS = {
  location_body: (node: Node, text: string) => [
    '/dyn_loc',
    { ...place(node, 'file.org'), locations: [{ location_rule: '', location_name: '/x', location_body: text }] },
  ],
  upstream_body: (_node: Node, text: string) => ['/dyn_ups', { upstream_name: 'sent', upstream_body: `zone sent 64k; ${text}` }],
  server_body: (node: Node, text: string) => ['/dyn_srv', { ...place(node, 'sent.org'), server_body: text }],
} satisfies Record<string, (node: Node, text: string) => [string, object]>;
type Field = keyof typeof CALLS;

function place(node: Node, name: string): object {
  return { addr_port: `127.0.0.1:${node.srv.port('web')}`, server_name: name };
}

/** What the text tries, and what is said of it. */
const ATTEMPTS: readonly (readonly [what: string, fields: readonly Field[], text: string, message: RegExp])[] = [
  ['to end its block', every(), 'keepalive_timeout 1s; } server { listen 127.0.0.1:1', /unexpected "\}"/],
  ['to end its block at once', every(), '}', /unexpected "\}"/],
  ['to end two blocks', every(), '} }', /unexpected "\}"/],
  ['to end its block behind a comment', every(), '# a comment\n}', /unexpected "\}"/],
  ['to end its block behind a carriage return', every(), '# a comment\r\n}', /unexpected "\}"/],
  ['to end its block behind an open one', ['location_body', 'server_body'], 'if ($arg_a) { return 204; } } return 200', /unexpected "\}"/],
  ['to leave a block open', ['location_body', 'server_body'], 'if ($arg_a) { return 204;', /unexpected end/],
  ['to leave a quote open', every(), 'add_header X "y', /unexpected end/],
  ['to open a block without a name', every(), '{ return 200; }', /unexpected "\{"/],
  ['to include a file', every(), 'include /etc/passwd', /"include" directive is not allowed here/],
  ['to include files by a pattern', every(), 'include /etc/*.conf;', /"include" directive is not allowed here/],
  ['to include a file in a quoted word', every(), '"include" /etc/passwd;', /"include"/],
  ['to include a file from a nested block', ['location_body', 'server_body'], 'if ($arg_a) { include /etc/passwd; }', /"include"/],
  ['to load a module', every(), 'load_module modules/srv_http_stub_status_module.so', /"load_module" directive is not allowed here/],
  ['to start a helper', every(), 'helper ctrl modules/x.so conf/x.conf', /"helper" directive is not allowed here/],
  ['to change the user', every(), 'user root', /"user" directive is not allowed here/],
  ['to write another error log of the process', ['upstream_body'], 'error_log /tmp/evil', /"error_log" directive is not allowed here/],
  ['to set the environment', every(), 'env LD_PRELOAD=/tmp/x', /"env" directive is not allowed here/],
  ['to make another pid file', every(), 'pid /tmp/evil', /"pid" directive is not allowed here/],
  ['to open an http block', every(), 'http { }', /"http" directive is not allowed here/],
  ['to open a server', every(), 'server { listen 127.0.0.1:1; }', /"server"/],
  ['to open an upstream', every(), 'upstream evil { server 127.0.0.1:1; }', /"upstream" directive is not allowed here/],
  ['to make a zone of requests', every(), 'limit_req_zone $uri zone=a:1m rate=1r/s', /"limit_req_zone" directive is not allowed here/],
  ['to make a zone of connections', every(), 'limit_conn_zone $uri zone=a:1m', /"limit_conn_zone" directive is not allowed here/],
  ['to make a variable for all', every(), 'map $uri $evil { default 1; }', /"map" directive is not allowed here/],
  ['to make a log format', every(), 'log_format evil "$uri"', /"log_format" directive is not allowed here/],
  ['to open the API', ['location_body', 'server_body'], 'dyn_module_api', /"dyn_module_api"/],
  ['to add a location where there is none', ['upstream_body'], 'location / { }', /"location" directive is not allowed here/],
  ['to take the zone of another upstream', ['upstream_body'], 'zone demo 1m', /"zone" directive is duplicate|zone "demo"/],
  ['to read a key that is missing', ['server_body'], 'ssl_certificate /no/such.pem; ssl_certificate_key /no/such.key', /cannot name/],
  ['to use an unknown variable', ['location_body', 'server_body'], 'return 200 $evil_', /unknown "evil_" variable/],
  [
    'to send what is shown for a secret',
    ['location_body', 'server_body'],
    'proxy_set_header Authorization (secret)',
    /the place of a secret/,
  ],
  ['a directive that does not exist', every(), '__proto__ 1', /unknown directive "__proto__"/],
  ['a name of an inherited property', every(), 'constructor x', /unknown directive "constructor"/],
];

function every(): readonly Field[] {
  return ['location_body', 'upstream_body', 'server_body'];
}

for (const [what, fields, text, message] of ATTEMPTS) {
  for (const field of fields) {
    test.serial(`${field} is rejected that tries ${what}`, async (t) => {
      const node = await shared();
      const before = (await node.call('GET', '/config/effective')).body;
      const [path, body] = CALLS[field](node, text);
      const refused = await node.call('POST', path, body);
      t.is(refused.status, 400, refused.body);
      const { code, details } = errorOf(refused);
      t.is(code, 'ConfigError');
      t.regex(details[0]?.message ?? '', message);
      t.regex(details[0]?.pointer ?? '', new RegExp(`/${field}$`));
      t.notRegex(refused.body, /srv-test-|root:x:/);
      t.is((await node.call('GET', '/config/effective')).body, before);
    });
  }
}

/** Text that looks like more than it is. */
const HARMLESS: readonly (readonly [what: string, body: string, response: string])[] = [
  ['a brace in quotes', 'return 200 "} server { listen 1; }"', '} server { listen 1; }'],
  ['a brace with a backslash', String.raw`return 200 \}`, String.raw`\}`],
  ['a brace in a comment', 'return 200 "a"; # } server {', 'a'],
  ['a semicolon in quotes', "return 200 'a; include /etc/passwd;'", 'a; include /etc/passwd;'],
];

for (const [what, location_body, response] of HARMLESS) {
  test(`taken as it is meant: ${what}`, async (t) => {
    const node = await shared();
    const location = { location_rule: '=', location_name: `/${what}`, location_body };
    t.is((await node.call('POST', '/dyn_loc', { ...place(node, 'file.org'), locations: [location] })).status, 200);
    const path = `/${encodeURIComponent(what)}`;
    t.is((await get(node.srv.port('web'), path, { headers: { host: 'file.org' } })).body, response);
  });
}

const NAMES = ['/a b', '/a;b', '/a{b}', '/a"b', "/a'b", '/a\\b', '/a#b', '/a$b', '/a\nb', '/; } server {', '/é'];
for (const name of NAMES) {
  test(`the name of a location is one word: ${JSON.stringify(name)}`, async (t) => {
    const node = await shared();
    const key = { location_rule: '=', location_name: name };
    const added = await node.call('POST', '/dyn_loc', {
      ...place(node, 'file.org'),
      locations: [{ ...key, location_body: 'return 200 "named"' }],
    });
    t.is(added.status, 200, added.body);
    const path = encodeURI(name).replaceAll('#', '%23').replaceAll(';', '%3B');
    t.is((await get(node.srv.port('web'), path, { headers: { host: 'file.org' } })).body, 'named');
    t.is((await node.call('PUT', '/dyn_loc', { type: 'del', ...place(node, 'file.org'), ...key })).status, 200);
  });
}
