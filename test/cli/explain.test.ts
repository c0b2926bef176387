/** `srv explain` and `srv test`: requests and a configuration file, without a server. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { explainRequest } from '../../core/cli/explain.js';
import { readExplained } from '../../core/cli/explained-configuration.js';
import { OptionError } from '../../core/cli/options.js';
import { parseRoutingTests } from '../../core/cli/routing-test-file.js';
import { runRoutingTests } from '../../core/cli/routing-tests.js';
import { parseSubcommand, type SubcommandName } from '../../core/cli/subcommands.js';
import { findInstallation } from '../../core/kernel/installation.js';
import type { Explanation, ExplainQuestion } from '../../core/contract/explain.js';
import { selfSigned } from '../harness/certificate.js';
import { plugin } from '../harness/plugins.js';
import { SRV } from '../harness/srv.js';
import { tempFolder, writeInto } from '../harness/temp.js';

const CONF = `
  error_log logs/own.log;
  events {}
  http {
    access_log logs/access.log;
    limit_req_zone $binary_remote_addr zone=per_ip:1m rate=10r/s;
    upstream shop { zone shop 64k; ip_hash; server 10.0.0.1; server 10.0.0.2; }
    server {
      listen 192.0.2.77:80;
      listen 443;
      server_name a.org;
      location / { proxy_pass http://backend.invalid:8080; }
      location ^~ /img { limit_req zone=per_ip; proxy_pass http://shop; }
      location ~ \\.png$ { return 403; }
      location /old { return 301 /new; }
      location /rpc { grpc_pass grpcs://shop; }
      location /call { grpc_pass shop; }
      location /app { fastcgi_pass shop; }
    }
    server { listen 192.0.2.77:80; server_name b.org; location / { return 200 'b'; } }
  }`;

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly prefix: string;
}

async function run(
  t: ExecutionContext,
  name: SubcommandName,
  args: readonly string[],
  files: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const prefix = tempFolder(t);
  for (const [path, content] of Object.entries({ 'conf/srv.conf': CONF, ...files })) writeInto(prefix, path, content);
  let [stdout, stderr] = ['', ''];
  const output = { stdout: (text: string) => void (stdout += text), stderr: (text: string) => void (stderr += text) };
  const subject = args.map((word) => word.replaceAll('%%PREFIX%%', prefix));
  const command = parseSubcommand(name, [...subject, '-p', prefix]);
  const code = await (name === 'explain' ? explainRequest : runRoutingTests)(command, findInstallation(), output);
  return { code, stdout, stderr, prefix };
}

test('the protocol of the members is shown', async (t) => {
  for (const [path, shown] of [
    ['/img', 'http: GET /img HTTP/1.1'],
    ['/rpc', 'grpcs: GET /rpc HTTP/2'],
    ['/call', 'grpc: GET /call HTTP/2'],
    ['/app', 'fastcgi: GET /app'],
  ] as const) {
    const { code, stdout } = await run(t, 'explain', [`http://a.org${path}`]);
    t.is(code, 0, stdout);
    t.true(stdout.includes(`upstream   shop, by ${shown}\n`), stdout);
  }
});

test('the command explains a request, and leaves nothing behind', (t) => {
  const prefix = tempFolder(t);
  writeInto(prefix, 'conf/srv.conf', CONF);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [SRV, 'explain', 'http://a.org/img/x.png', '-p', prefix, '--client', '10.9.8.7'],
    { encoding: 'utf8' },
  );
  t.is(status, 0, stderr);
  t.is(stderr, '');
  t.regex(stdout, /^GET http:\/\/a\.org\/img\/x\.png from 10\.9\.8\.7$/m);
  t.regex(stdout, /^listener {3}192\.0\.2\.77:80: it is the only one on port 80$/m);
  t.regex(stdout, /^server {5}a\.org \(.*conf\/srv\.conf:8\): its server_name is exactly "a\.org"$/m);
  t.regex(stdout, /^location {3}\^~ \/img \(.*srv\.conf:13\): it is the longest prefix of the path, and \^~ says/m);
  t.regex(stdout, /^ {11}not ~ \\\.png\$ \(.*srv\.conf:14\): it matches, but it is not tried: "\^~ \/img" has the modifier \^~$/m);
  t.regex(stdout, /^preaccess {2}limit_req per_ip: key "10\.9\.8\.7", 10 requests a second, excess 0\.000: passes now \(limit_req\)$/m);
  t.regex(stdout, /^upstream {3}shop, by http: GET \/img\/x\.png HTTP\/1\.1\n {11}Host: shop$/m);
  t.regex(stdout, /^members {4}ip_hash: 10\.0\.0\.[12]:80 is chosen$/m);
  t.regex(stdout, /^response {3}a member of upstream "shop" responds$/m);
  t.deepEqual(readdirSync(prefix), ['conf']);
  t.deepEqual(readdirSync(join(prefix, 'conf')), ['srv.conf']);
});

test('method, headers, listener and -g are options; --json is for programs', async (t) => {
  const { stdout, code } = await run(t, 'explain', ['/old/x?y', '-X', 'POST', '-HHost: a.org', '-H', 'X-A: b', '--listen=443', '--json']);
  t.is(code, 0);
  const explained = JSON.parse(stdout) as Explanation;
  t.like(explained, { request: { method: 'POST', host: 'a.org', uri: '/old/x' }, listener: { address: '0.0.0.0:443' } });
  t.like(explained.response, { by: 'srv', status: 301, location: 'http://a.org:443/new' });
  t.is(explained.server?.place?.line, 8);
});

test('what a request holds does not look like lines of the explanation', async (t) => {
  const { stdout } = await run(t, 'explain', ['http://a.org/%0Aresponse%20%1b[31m', '-H', 'X-A: b\u009bc']);
  t.notRegex(stdout, /^response.*\[31m/m);
  t.notRegex(stdout, /[\0-\x09\x0b-\x1f\x7f-\x9f]/);
  for (const url of ['http://a.org/x\ny', '/x\r', 'http://a.org/?\u007f']) {
    const { stderr, code } = await run(t, 'explain', [url]);
    t.is(code, 1);
    t.regex(stderr, /control character: write it percent-encoded/);
  }
});

test('no one is asked for the address of a member', async (t) => {
  const { stdout } = await run(t, 'explain', ['http://a.org/']);
  t.regex(stdout, /backend\.invalid:8080 is chosen/);
});

test('what is wrong with the request or the configuration is said', async (t) => {
  const unknown = await run(t, 'explain', ['http://a.org:81/']);
  t.is(unknown.code, 1);
  t.is(unknown.stderr, 'srv: nothing listens on port 81: the listeners are 192.0.2.77:80, 0.0.0.0:443\n');
  const invalid = await run(t, 'explain', ['http://a.org/'], { 'conf/srv.conf': 'events {} http { server { lisen 80; } }' });
  t.is(invalid.code, 1);
  t.regex(invalid.stderr, /\[emerg\] unknown directive "lisen" in .*srv\.conf:1/);
  const several = await run(t, 'explain', ['http://a.org/'], {
    'conf/srv.conf': 'events {} http { server { listen 10.0.0.1:80; listen 10.0.0.2:80; } }',
  });
  t.is(several.stderr, 'srv: several listeners have port 80: say which one is meant: 10.0.0.1:80, 10.0.0.2:80\n');
});

test('options that are not understood', (t) => {
  const errors: readonly (readonly [name: SubcommandName, args: readonly string[], message: RegExp])[] = [
    ['explain', [], /"srv explain" requires a URL/],
    ['test', [], /"srv test" requires a file name/],
    ['explain', ['http://a.org/', 'x'], /invalid option: "x"/],
    ['explain', ['http://a.org/', '-z'], /invalid option: "-z"/],
    ['test', ['file', '-X', 'GET'], /invalid option: "-X"/],
    ['explain', ['http://a.org/', '-H'], /option "-H" requires header/],
    ['explain', ['http://a.org/', '-H', 'x'], /invalid header "x": write it like -H "Accept: text\/html"/],
    ['explain', ['http://a.org/', '--client='], /option "--client" requires address/],
  ];
  for (const [name, args, message] of errors) {
    const error = t.throws(() => parseSubcommand(name, args), { instanceOf: OptionError });
    t.regex(error?.message ?? '', message);
  }
});

const TESTS = `
# What the shop relies on.
with client=10.1.1.1

GET http://a.org/img/x.png [Accept: image/png] -> server=a.org location="^~ /img" upstream=shop uri=/img/x.png status=upstream
http://a.org/old/y -> status=301 redirect=http://a.org/new upstream=none
http://a.org/a.png client=10.2.2.2 -> location="~ \\.png$" status=403
POST http://b.org/ -> server=b.org status=200 listener=192.0.2.77:80
`;

test('routing tests pass, and fail with what was found', async (t) => {
  const passed = await run(t, 'test', ['%%PREFIX%%/routes.test'], { 'routes.test': TESTS });
  t.is(passed.stdout, '4 passed\n', passed.stderr);
  t.is(passed.code, 0);
  const wrong = `${TESTS}GET http://a.org/a.png -> status=200 location=/ server=a.org\nhttp://a.org:99/ -> status=200\n`;
  const failed = await run(t, 'test', ['%%PREFIX%%/routes.test'], { 'routes.test': wrong });
  t.is(failed.code, 1);
  const lines = failed.stdout.split('\n').map((line) => line.replace(/^.*\/?routes\.test:/, ''));
  t.deepEqual(lines, [
    '9: GET http://a.org/a.png: status is "403", expected "200"',
    '9: GET http://a.org/a.png: location is "~ \\.png$", expected "/"',
    '10: http://a.org:99/: nothing listens on port 99: the listeners are 192.0.2.77:80, 0.0.0.0:443',
    '2 failed, 4 passed',
    '',
  ]);
});

test('routing tests report as JSON', async (t) => {
  const { stdout, code } = await run(t, 'test', ['%%PREFIX%%/r', '--json'], {
    r: 'http://b.org/ -> status=201\nhttp://b.org/ -> status=200\n',
  });
  t.is(code, 1);
  t.like(JSON.parse(stdout), {
    passed: 1,
    failed: 1,
    results: [
      { line: 1, request: 'http://b.org/', passed: false, failures: [{ what: 'status', expected: '201', found: '200' }] },
      { line: 2, passed: true, failures: [] },
    ],
  });
});

test('tests that cannot be run are another exit code', async (t) => {
  const bad = await run(t, 'test', ['%%PREFIX%%/r'], {
    r: 'GET http://a.org/\n-> status=200\nhttp://a.org/ -> \nhttp://a.org/ -> statu=200\nhttp://a.org/ -> status\nhttp://a.org/ color=red -> status=1\n',
  });
  t.is(bad.code, 2);
  const messages = bad.stderr
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^.*:(\d): /, '$1: '));
  t.deepEqual(messages, [
    '1: no "->": a test is written like GET http://a.org/x -> location=/x',
    '2: no request: a test is written like GET http://a.org/x -> location=/x',
    '3: no expectation: write one or more of listener, server, location, status, upstream, member, uri, redirect after the "->"',
    '4: "statu" cannot be expected: did you mean "status"?',
    '5: "status" has no value: write status=…',
    '6: "color=red" is not understood: a header is [Name: value], and there are client=address and listen=address',
  ]);
  t.is((await run(t, 'test', ['%%PREFIX%%/none'])).code, 2);
  t.regex((await run(t, 'test', ['/tmp'])).stderr, /open\(\) "\/tmp" failed \(21: Is a directory\)/);
  t.is((await run(t, 'test', ['%%PREFIX%%/r'], { r: '# nothing\n' })).code, 2);
  t.is((await run(t, 'test', ['%%PREFIX%%/r'], { r: TESTS, 'conf/srv.conf': 'http' })).code, 2);
});

test('values with blanks and signs are quoted', (t) => {
  const { tests, errors } = parseRoutingTests('GET http://a.org/a [X: "b c"] -> location="~* ^/a (b|c)$" redirect=http://b/?x=y\r\n');
  t.deepEqual(errors, []);
  t.deepEqual(tests[0]?.expected, [
    ['location', '~* ^/a (b|c)$'],
    ['redirect', 'http://b/?x=y'],
  ]);
  t.deepEqual(tests[0]?.question.headers, [['X', '"b c"']]);
});

const BACKEND = `events {} http { server { listen 127.0.0.1:80; location / { proxy_pass http://10.0.0.1; } } }`;

type Explain = (url: string, question?: Partial<ExplainQuestion>) => Explanation;

/** Explains requests with one configuration. */
async function explainer(
  t: ExecutionContext,
  conf: string,
  files: Readonly<Record<string, string>> = {},
  stderr: (text: string) => void = t.fail,
): Promise<Explain> {
  const prefix = tempFolder(t);
  for (const [path, content] of Object.entries({ 'conf/srv.conf': conf, ...files })) writeInto(prefix, path, content);
  const command = parseSubcommand('explain', ['/', '-p', prefix]);
  const configuration = await readExplained(command, findInstallation(), { stdout: t.fail, stderr });
  t.teardown(() => configuration?.end());
  return (url, question = {}) => configuration!.explainer.explain({ ...question, url });
}

test('CONNECT: a tunnel is explained, and not opened', async (t) => {
  const main = 'load_module modules/srv_http_proxy_connect_module.so; events {}';
  const explain = await explainer(t, `${main} http { server { listen 3128; proxy_connect; proxy_connect_allow 443; } }`);
  const tunnel = (target: string): Explanation => explain(target, { method: 'CONNECT' });
  const open = tunnel('a.invalid:443');
  t.is(open.response.text, 'a tunnel to a.invalid:443');
  t.deepEqual(open.assumptions, ['proxy_connect: the address of "a.invalid" is an allowed destination']);
  const loopback = tunnel('127.0.0.1:443');
  t.is(loopback.response.status, 403);
  t.deepEqual(loopback.log, ['[error] proxy_connect: destination 127.0.0.1 is not allowed']);
  t.is(tunnel('a.invalid:22').response.status, 403);
  t.throws(() => tunnel('http://a.org/'), { message: 'invalid target "http://a.org/" of CONNECT: write it like a.org:443' });
  const passed = (await explainer(t, `${main} http { server { listen 3128; location / { tunnel_pass 10.0.0.1:7; } } }`))('a.org:443', {
    method: 'CONNECT',
  });
  t.like(passed.upstream, { scheme: 'tcp', version: '' });
  t.is((await explainer(t, BACKEND))('a.org:443', { method: 'CONNECT' }).response.status, 405);
});

/** A location `/NAME` for each body of `compile`. */
function modules(bodies: Readonly<Record<string, string>>): { conf: string; files: Record<string, string> } {
  const files: Record<string, string> = {};
  for (const [name, body] of Object.entries(bodies)) {
    const manifest = `directives: { ${name}: directive({ in: ['location'], args: text() }) }`;
    files[`modules/acme_${name}.mjs`] = plugin(`acme_${name}`, {
      manifest,
      body: `compile(scope) { return scope.conf.${name} && ${body}; }`,
    });
  }
  const names = Object.keys(bodies);
  const lines = names.map((name) => `load_module modules/acme_${name}.mjs;`).join(' ');
  const locations = names.map((name) => `location /${name} { ${name} on; proxy_pass http://10.0.0.1; }`).join(' ');
  return { conf: `${lines} events {} http { server { listen 80; ${locations} } }`, files };
}

test('modules of others: nothing is run that does not say so', async (t) => {
  const { conf, files } = modules({
    silent: `{ access: () => 403, header: () => { throw new Error('never'); }, log: () => { throw new Error('never'); } }`,
    runs: `{ access: () => 403, explain: { access: 'run' } }`,
    says: `{ access: () => { throw new Error('never'); }, explain: { access: (request, notes) => { notes.say('because', { of: 1 }); return 401; } } }`,
    waits: `{ access: async () => 403, explain: { access: 'run' } }`,
    throws: `{ access: () => 403, explain: { access: () => { throw new Error('no'); } } }`,
    asks: `{ access: (request) => request.subrequest('/x'), explain: { access: 'run' } }`,
    calls: `{ memberRequest: () => 403 }`,
    keeps: `{ memberRequest: () => 403, explain: { memberRequest: (request, notes) => notes.end('a stored page', 200) } }`,
    misses: `{ memberRequest: () => 403, explain: { memberRequest: (request, notes) => { notes.say('nothing is stored'); return -1; } } }`,
    delays: `{ preaccess: (request) => request.delay(5000), explain: { preaccess: 'run' } }`,
  });
  const errors: string[] = [];
  const explain = await explainer(t, conf, files, (text) => errors.push(text));
  const all = (name: string): Explanation => explain(`http://a.org/${name}`);
  const silent = all('silent');
  t.is(silent.response.by, 'upstream');
  t.deepEqual(silent.assumptions, ['it is not known what acme_silent does: it does not explain itself']);
  t.is(all('runs').response.status, 403);
  const says = all('says');
  t.is(says.response.status, 401);
  t.like(says.steps.at(-1), { phase: 'access', module: 'acme_says', text: 'because', facts: { of: 1 } });
  t.deepEqual(all('waits').assumptions, ['it is not known what acme_waits does: it waits for something']);
  t.deepEqual(all('asks').assumptions, ['it is not known what acme_asks does: it waits for something']);
  const calls = all('calls');
  t.is(calls.response.by, 'upstream');
  t.deepEqual(calls.assumptions, ['acme_calls does not respond in the place of a member: it does not explain itself']);
  t.deepEqual(all('keeps').response, { by: 'srv', status: 200, text: 'a stored page' });
  t.is(all('keeps').upstream, undefined);
  t.is(all('misses').response.by, 'upstream');
  t.like(all('misses').steps.at(-1), { module: 'acme_misses', text: 'nothing is stored' });
  const thrown = all('throws');
  t.is(thrown.response.status, 500);
  t.regex(thrown.log[0] ?? '', /a handler of "acme_throws" failed: Error: no/);
  t.is(errors.length, 1);
  t.regex(errors[0] ?? '', /explanation by module "acme_throws" failed: Error: no/);
  t.like(all('delays').steps.at(-1), { phase: 'preaccess', text: 'waits for 5000 ms' });
});

test('content of modules of others', async (t) => {
  const { conf, files } = modules({
    silent: `{ content: () => 200 }`,
    known: `{ content: () => { throw new Error('never'); }, explain: { content: (request, notes) => notes.end('a page', 201) } }`,
    streams: `{ content: (request) => { const body = request.respond(206, 'text/plain'); body.write('x'); return -2; }, explain: { content: 'run' } }`,
    promises: `{ content: () => -2, explain: { content: 'run' } }`,
  });
  const explain = await explainer(t, conf.replaceAll('proxy_pass http://10.0.0.1;', ''), files);
  const response = (name: string): Explanation['response'] => explain(`http://a.org/${name}`).response;
  t.deepEqual(response('silent'), { by: 'module', text: 'it is not known what acme_silent does: it does not explain itself' });
  t.deepEqual(response('known'), { by: 'srv', status: 201, text: 'a page' });
  t.like(response('streams'), { by: 'srv', status: 206 });
  t.like(response('promises'), { by: 'module' });
});

test('TLS, unix sockets, and targets that are known with the request only', async (t) => {
  const { key, cert } = selfSigned('a.org');
  const conf = `events {} http { server {
    listen 443 ssl; listen unix:run/x.sock; ssl_certificate c.pem; ssl_certificate_key k.pem;
    location / { proxy_pass https://10.0.0.1; proxy_set_header X-Scheme $scheme; }
    location /to { resolver 127.0.0.1; proxy_pass $arg_to;}
    location /unresolved { proxy_pass $arg_to; }
    location /any { satisfy any; allow 10.0.0.0/8; deny all; auth_request /auth; proxy_pass http://10.0.0.1; }
  } }`;
  const explain = await explainer(t, conf, { 'conf/c.pem': cert, 'conf/k.pem': key });
  const secure = explain('https://a.org/');
  t.like(secure, { listener: { address: '0.0.0.0:443', secure: true }, upstream: { scheme: 'https', member: '10.0.0.1:443' } });
  t.deepEqual(secure.upstream?.headers.at(-1), ['X-Scheme', 'https']);
  t.is(explain('http://a.org:443/').response.status, 400);
  const local = explain('/', { headers: [['Host', 'a.org']], listen: 'unix:run/x.sock' });
  t.like(local, { request: { client: 'unix:' }, upstream: { scheme: 'https' } });
  t.like(explain('https://a.org/to?to=http://b.invalid/x').upstream, { name: 'b.invalid', uri: '/x', members: [] });
  t.like(explain('https://a.org/to?to=ftp://b.invalid/').response, { by: 'srv', status: 500 });
  t.like(explain('https://a.org/unresolved?to=http://10.0.0.1/x').upstream, { name: '10.0.0.1:80', member: '10.0.0.1:80' });
  t.like(explain('https://a.org/unresolved?to=http://b.invalid/x').response, { by: 'srv', status: 502 });
  const any = explain('https://a.org/any', { client: '192.0.2.1' });
  t.deepEqual(any.assumptions, ['auth_request: /auth allows the request']);
  t.is(any.steps.filter(({ facts }) => facts?.['satisfy'] === 'any').length, 1);
});

test('a client certificate is assumed', async (t) => {
  const { key, cert } = selfSigned('a.org');
  const tls = 'ssl_certificate c.pem; ssl_certificate_key k.pem;';
  const conf = `events {} http {
    server { listen 443 ssl; server_name a.org; ${tls} ssl_verify_client on; ssl_client_certificate c.pem; location / { return 200; } }
    server { listen 443 ssl; server_name b.org; ${tls} location / { return 200; } }
  }`;
  const explain = await explainer(t, conf, { 'conf/c.pem': cert, 'conf/k.pem': key });
  const asked = explain('https://a.org/');
  t.is(asked.response.status, 200);
  t.deepEqual(asked.assumptions, ['ssl_verify_client: the client has a certificate that is valid']);
  const misdirected = explain('https://b.org/', { headers: [['Host', 'a.org']] });
  t.is(misdirected.response.status, 421);
});

test('members of a state file are known without a server', async (t) => {
  const main = 'load_module modules/srv_http_upstream_member_module.so; events {}';
  const conf = `${main} http { upstream u { zone u 64k; state state/u; } server { listen 80; location / { proxy_pass http://u; } } }`;
  const explain = await explainer(t, conf, { 'state/u': 'server 10.0.0.7:80;\n' });
  t.is(explain('http://a.org/').upstream?.member, '10.0.0.7:80');
});
