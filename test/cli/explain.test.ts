/** `srv explain` and `srv test`: requests and a configuration file, without a server. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { explainRequest } from '../../core/cli/explain.js';
import { OptionError } from '../../core/cli/options.js';
import { parseRoutingTests } from '../../core/cli/routing-test-file.js';
import { runRoutingTests } from '../../core/cli/routing-tests.js';
import { parseSubcommand, type SubcommandName } from '../../core/cli/subcommands.js';
import { findInstallation } from '../../core/kernel/installation.js';
import type { Explanation } from '../../core/module/explain.js';
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

test('nobody is asked for the address of a member', async (t) => {
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
    '3: nothing is expected: write one or more of listener, server, location, status, upstream, member, uri, redirect behind the "->"',
    '4: "statu" cannot be expected: did you mean "status"?',
    '5: "status" has no value: write status=…',
    '6: "color=red" is not understood: a header is [Name: value], and there are client=address and listen=address',
  ]);
  t.is((await run(t, 'test', ['%%PREFIX%%/none'])).code, 2);
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
