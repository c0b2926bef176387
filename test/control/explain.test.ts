/** `GET /v1/explain`: what it says of a request is what becomes of it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import test from 'ava';
import type { Explanation } from '../../core/contract/explain.js';
import { httpBackend } from '../harness/backends.js';
import { get, type HttpResponse } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { errorOf } from './api-client.js';
import { startNode, type Node } from './node.js';
import { randomSite, type RandomSite } from './random-locations.js';

const MAIN = `load_module modules/srv_http_explain_module.so; load_module modules/srv_http_fault_inject_module.so;`;

/** What became of a request is in its response: the server and the location in a field, the upstream and what it got in the body. */
const mark = (location: string): string => `add_header X-Where '$server_name ${encodeURIComponent(location)}' always;`;

function conf([one, two, three]: readonly number[]): string {
  return `
    access_log off;
    limit_req_zone $binary_remote_addr zone=rate:64k rate=1r/m;
    limit_conn_zone $server_name zone=held:64k;
    limit_req_zone $arg_key zone=keyed:64k rate=1000r/s;
    map $http_accept $kind { default html; ~json json; }
    geo $inside { default no; 127.0.0.0/8 yes; 10.0.0.0/8 ten; }
    upstream one { zone one 64k; server 127.0.0.1:${one}; }
    upstream hashed { zone hashed 64k; hash $arg_k; server 127.0.0.1:${one}; server 127.0.0.1:${two}; server 127.0.0.1:${three}; }
    upstream ring { zone ring 64k; hash $arg_k consistent; server 127.0.0.1:${one}; server 127.0.0.1:${two}; server 127.0.0.1:${three}; }
    upstream byaddr { zone byaddr 64k; ip_hash; server 127.0.0.1:${one}; server 127.0.0.1:${two}; }
    upstream spare { zone spare 64k; server 127.0.0.1:${one} down; server 127.0.0.1:${two} backup; }
    server {
      listen 127.0.0.1:%%PORT_site%% default_server;
      server_name a.org *.a.org;
      error_page 404 /missing.html;
      error_page 502 =200 @fallback;
      location / { ${mark('/')} proxy_pass http://one; proxy_set_header X-Kind $kind; proxy_set_header Host $host; }
      location /api/ { ${mark('/api/')} proxy_pass http://one/v2/; proxy_set_header X-Inside $inside; }
      location = /exact { ${mark('= /exact')} return 200 'exact $kind'; }
      location ^~ /img { ${mark('^~ /img')} limit_conn held 100; proxy_pass http://hashed; }
      location ^~ /ring { ${mark('^~ /ring')} proxy_pass http://ring; }
      location ^~ /addr { ${mark('^~ /addr')} proxy_pass http://byaddr; }
      location ^~ /spare { ${mark('^~ /spare')} proxy_pass http://spare; }
      location ~ \\.php$ { ${mark('~ \\.php$')} deny all; }
      location ~* \\.(?<ext>jpe?g)$ { ${mark('~* \\.(?<ext>jpe?g)$')} return 203 $ext; }
      location /old/ {
        ${mark('/old/')}
        set $v none;
        if ($arg_v ~ "^(\\d+)$") { set $v $1; }
        if ($request_method = POST) { return 405; }
        rewrite ^/old/gone/ /nowhere/ last;
        rewrite ^/old/(.*)\\.html$ /api/$1?v=$v last;
        rewrite ^/old/away/(.*)$ https://b.org/$1 permanent;
        rewrite ^/old/stay/(.*)$ /stayed/$1 break;
        proxy_pass http://one;
      }
      location /nowhere/ { ${mark('/nowhere/')} return 404; }
      location = /missing.html { ${mark('= /missing.html')} internal; return 200 'sorry'; }
      location @fallback { ${mark('@fallback')} return 200 'fallback'; }
      location /broken/ { ${mark('/broken/')} return 502; }
      location /inside/ { ${mark('/inside/')} allow 10.0.0.0/8; deny all; proxy_pass http://one; }
      location /closed/ { ${mark('/closed/')} return 444; }
      location /private/ { ${mark('/private/')} auth_basic staff; auth_basic_user_file users; proxy_pass http://one; }
      location /any/ { ${mark('/any/')} satisfy any; allow 127.0.0.1; deny all; auth_basic staff; auth_basic_user_file users; proxy_pass http://one; }
      location /asked/ { ${mark('/asked/')} auth_request /auth; proxy_pass http://one; }
      location = /auth { ${mark('= /auth')} internal; return 204; }
      location /files/ { ${mark('/files/')} root %%PREFIX%%/html; try_files $uri $uri.txt @app; }
      location /static/ { ${mark('/static/')} root html; }
      location @app { ${mark('@app')} proxy_pass http://one; proxy_set_header X-App yes; }
      location /faulty/ { ${mark('/faulty/')} fault_inject type=abort status_code=418 if=$arg_fail; proxy_pass http://one; }
      location /get/ { ${mark('/get/')} limit_except GET { deny all; } proxy_pass http://one; }
      location /small/ { ${mark('/small/')} client_max_body_size 1; proxy_pass http://one; }
      location /rated/ { ${mark('/rated/')} limit_req zone=keyed burst=5; limit_rate 100k; proxy_pass http://one; }
      location /outer/ {
        ${mark('/outer/')} return 200 outer;
        location /outer/inner/ { ${mark('/outer/inner/')} return 200 inner; }
        location ~ \\.x$ { ${mark('~ \\.x$')} return 200 x; }
      }
      location /loop/ { ${mark('/loop/')} rewrite ^ /loop/again/ last; }
      location /var/ { ${mark('/var/')} set $target one; proxy_pass http://$target$request_uri; }
      location /bad/ { ${mark('/bad/')} set $target ''; proxy_pass http://$target; }
    }
    server { listen 127.0.0.1:%%PORT_site%%; server_name b.org; ${mark('none')} return 302 https://c.org$request_uri; }
    server { listen 127.0.0.1:%%PORT_site%%; server_name www.*; location / { ${mark('/')} return 200 www; } }
    server { listen 127.0.0.1:%%PORT_site%%; server_name ~^(?<sub>\\w+)\\.c\\.org$; location / { ${mark('/')} return 200 'sub $sub'; } }
    server {
      listen 127.0.0.1:%%PORT_site%%; server_name real.org; set_real_ip_from 127.0.0.1;
      location / { ${mark('/')} allow 192.0.2.1; deny all; proxy_pass http://one; proxy_set_header X-Client $remote_addr; }
    }
    server { listen 127.0.0.1:%%PORT_limited%%; limit_req zone=rate; location / { proxy_pass http://one; } }`;
}

const FILES = {
  'conf/users': 'ada:{PLAIN}secret\n',
  'html/files/there': 'there',
  'html/files/text.txt': 'text',
  'html/static/index.html': 'index',
  'html/static/page.html': 'page',
};

interface Running {
  readonly node: Node;
  readonly random: RandomSite;
}

function echo({ socket, method, url, headers }: IncomingMessage, response: ServerResponse): void {
  response.end(JSON.stringify({ member: `127.0.0.1:${socket.localPort}`, method, url, headers }));
}

async function start(scope: Scope): Promise<Running> {
  const backends = await Promise.all(Array.from({ length: 3 }, () => httpBackend(scope, echo)));
  const random = randomSite(20_261_122);
  const node = await startNode(scope, {
    main: MAIN,
    controlMain: 'load_module modules/srv_http_explain_api_module.so;',
    http: `upstream demo { zone demo 64k; server 127.0.0.1:1; } ${conf(backends.map(({ port }) => port))} ${random.server}`,
    files: FILES,
  });
  return { node, random };
}

const shared_ = shared(start);

interface Asked {
  readonly method?: string;
  readonly host?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly port?: string;
  readonly candidates?: number;
}

/** The query of the API for a request. */
function query(node: Node, path: string, { method = 'GET', host = 'a.org', headers = {}, port = 'site', candidates = 5 }: Asked): string {
  const parameters = new URLSearchParams({ method, url: `http://${host}:${node.srv.port(port)}${path}`, candidates: String(candidates) });
  for (const [name, value] of Object.entries(headers)) parameters.append('header', `${name}: ${value}`);
  return parameters.toString();
}

async function explain(node: Node, path: string, asked: Asked = {}): Promise<Explanation> {
  const { status, json, body } = await node.call('GET', `/explain?${query(node, path, asked)}`);
  if (status !== 200) throw new Error(body);
  return json as Explanation;
}

function real(
  node: Node,
  path: string,
  { method = 'GET', host = 'a.org', headers = {}, port = 'site' }: Asked = {},
): Promise<HttpResponse | undefined> {
  // Closed without a response: 444.
  return get(node.srv.port(port), path, { method, headers: { ...headers, host: `${host}:${node.srv.port(port)}` } }).catch(() => undefined);
}

const basic = (pair: string): { authorization: string } => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });

const REQUESTS: readonly (readonly [path: string, asked?: Asked])[] = [
  ['/'],
  ['/x?y=1', { headers: { accept: 'application/json' } }],
  ['/x', { host: 'sub.a.org' }],
  ['/x', { host: 'nobody.org' }],
  ['/x', { host: 'WWW.anything.com' }],
  ['/x', { host: 'foo.c.org' }],
  ['/x?a=b', { host: 'b.org' }],
  ['/api/users?id=7', { headers: { 'x-more': 'yes' } }],
  ['/api'],
  ['/exact', { headers: { accept: 'text/json' } }],
  ['/exact/'],
  ['/img/a.php'],
  ['/img/b?k=1'],
  ['/img/b?k=2'],
  ['/img/b?k=3'],
  ['/ring/b?k=1'],
  ['/ring/b?k=2'],
  ['/ring/b?k=3'],
  ['/addr/'],
  ['/spare/'],
  ['/a/b.php'],
  ['/a/B.JPG'],
  ['/old/page.html?v=3'],
  ['/old/page.html?v=x'],
  ['/old/gone/x'],
  ['/old/away/there?q=1'],
  ['/old/stay/%41b'],
  ['/old/x', { method: 'POST' }],
  ['/nowhere/'],
  ['/missing.html'],
  ['/broken/'],
  ['/inside/'],
  ['/closed/'],
  ['/private/x'],
  ['/private/x', { headers: basic('ada:secret') }],
  ['/any/x'],
  ['/asked/x'],
  ['/auth'],
  ['/files/there'],
  ['/files/text'],
  ['/files/none'],
  ['/static/'],
  ['/static/page.html'],
  ['/static/page.html', { headers: { range: 'bytes=0-1' } }],
  ['/static/none'],
  ['/static'],
  ['/faulty/x'],
  ['/faulty/x?fail=1'],
  ['/get/x'],
  ['/get/x', { method: 'DELETE' }],
  ['/small/', { method: 'PUT', headers: { 'content-length': '5' } }],
  ['/rated/?key=k'],
  ['/outer/'],
  ['/outer/inner/y'],
  ['/outer/inner/y.x'],
  ['/outer/y.x'],
  ['/loop/'],
  ['/var/x?y=z'],
  ['/bad/'],
  ['/%2e%2e/x//y'],
  ['/gr%C3%BCn'],
  ['/', { host: 'real.org', headers: { 'x-real-ip': '192.0.2.1' } }],
  ['/', { host: 'real.org', headers: { 'x-real-ip': '192.0.2.2' } }],
  ['/', { method: 'TRACE' }],
];

/** The member and what it got. */
interface Echo {
  readonly member: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

for (const [path, asked = {}] of REQUESTS) {
  test.serial(
    `the explanation is what happens: ${asked.method ?? 'GET'} ${asked.host ?? 'a.org'} ${path} ${JSON.stringify(asked.headers ?? {})}`,
    async (t) => {
      const { node } = await shared_();
      const explained = await explain(node, path, asked);
      const body = Number(asked.headers?.['content-length'] ?? 0);
      const answer = await real(node, path, asked);
      const { response, upstream, server, locations } = explained;
      if (answer === undefined) {
        t.is(response.by, body > 0 ? 'srv' : 'connection');
        return;
      }
      const where = answer.headers['x-where'];
      if (where !== undefined) t.is(`${server?.name} ${encodeURIComponent(locations.at(-1)?.location ?? 'none')}`, String(where));
      t.is(response.by, upstream === undefined ? 'srv' : 'upstream');
      if (response.by === 'srv') {
        t.is(response.status, answer.status);
        t.is(response.location, answer.headers.location);
        return;
      }
      t.is(answer.status, 200, answer.body);
      const got = JSON.parse(answer.body) as Echo;
      t.is(upstream?.method, got.method);
      t.is(upstream?.uri, got.url);
      for (const [name, value] of upstream?.headers ?? []) t.is([got.headers[name.toLowerCase()]].flat().join(', '), value, name);
      const fields = new Set(upstream?.headers.map(([name]) => name.toLowerCase()));
      for (const name of Object.keys(got.headers)) t.true(fields.has(name) || name === 'connection', name);
      t.true(upstream?.members.some(({ server: member, usable }) => usable && member === got.member));
      if (upstream?.member !== undefined) t.is(upstream.member, got.member);
    },
  );
}

test.serial('members are chosen by what follows from the request, and not guessed otherwise', async (t) => {
  const { node } = await shared_();
  const memberOf = async (path: string): Promise<string | undefined> => (await explain(node, path)).upstream?.member;
  t.regex((await memberOf('/img/x?k=1')) ?? '', /^127\.0\.0\.1:/);
  t.regex((await memberOf('/ring/x?k=1')) ?? '', /^127\.0\.0\.1:/);
  t.regex((await memberOf('/spare/')) ?? '', /^127\.0\.0\.1:/, 'the backup, because the other one is down');
  const { members } = (await explain(node, '/spare/')).upstream!;
  t.deepEqual(
    members.map(({ state, backup, usable }) => ({ state, backup, usable })),
    [
      { state: 'down', backup: false, usable: false },
      { state: 'up', backup: true, usable: true },
    ],
  );
});

/** True if a path would be for a location that is alone, by what nginx says of modifiers. */
function fits(location: string, uri: string): boolean {
  const [first = '', name] = location.split(' ');
  if (name === undefined) return uri.startsWith(first);
  if (first === '=') return uri === name;
  return first === '^~' ? uri.startsWith(name) : new RegExp(name, first === '~*' ? 'i' : '').test(uri);
}

test.serial('random locations: each path gets to the location that is explained', async (t) => {
  const { node, random } = await shared_();
  for (const path of random.paths) {
    const explained = await explain(node, path, { port: 'random', host: 'r.org', candidates: 50 });
    const answer = await real(node, path, { port: 'random', host: 'r.org' });
    const chosen = explained.locations.at(-1);
    t.is(chosen?.location ?? 'none', decodeURIComponent(answer?.body ?? ''), path);
    for (const rejected of chosen?.rejected ?? [])
      t.is(rejected.matches, fits(rejected.location, chosen?.uri ?? ''), `${rejected.location} ${path}`);
  }
});

test.serial('the other locations are listed with the reason why not, as many as are asked for', async (t) => {
  const { node } = await shared_();
  const [choice] = (await explain(node, '/img/a.php')).locations;
  t.is(choice?.location, '^~ /img');
  t.is(choice?.rejected.length, 5);
  t.true((choice?.more ?? 0) > 10);
  const why = new Map(choice?.rejected.map(({ location, why: reason }) => [location, reason]));
  t.is(why.get('/'), 'it matches, but "^~ /img" is longer');
  t.is(why.get('~ \\.php$'), 'it matches, but it is not tried: "^~ /img" has the modifier ^~');
  const { json } = await node.call('GET', `/explain?${query(node, '/img/a.php', {}).replace('candidates=5', 'candidates=0')}`);
  t.deepEqual((json as Explanation).locations[0]?.rejected, []);
});

test.serial('the steps say which directives did what', async (t) => {
  const { node } = await shared_();
  const steps = async (path: string, asked?: Asked): Promise<string> =>
    (await explain(node, path, asked)).steps.map(({ phase, text }) => `${phase}: ${text}`).join('\n');
  const rewritten = await steps('/old/page.html?v=3');
  t.regex(rewritten, /rewrite: set \$v = "none"\nrewrite: if \(\$arg_v ~ "\^\(\\d\+\)\$"\) is true\nrewrite: set \$v = "3"/);
  t.regex(rewritten, /"\/old\/page\.html" becomes "\/api\/page\?v=3&v=3"\nlocation: \/api\//);
  t.regex(
    await steps('/nowhere/'),
    /rewrite: return 404\nerror_page: the error page of 404 is "\/missing\.html"\nlocation: = \/missing\.html/,
  );
  t.regex(await steps('/inside/'), /access: "deny all" is the first rule for 127\.0\.0\.1/);
  t.regex(await steps('/private/x'), /access: asks for a user name and a password of "staff": the request has none/);
  t.regex(await steps('/rated/?key=k'), /preaccess: limit_req keyed: key "k", 1000 requests a second, excess [\d.]+: passes now/);
  t.regex(await steps('/rated/?key=k'), /response: limit_rate 100k bytes a second/);
  t.regex(await steps('/img/'), /preaccess: limit_conn held 100: key "a\.org" has 0 now/);
  t.regex(await steps('/files/text'), /precontent: try_files \$uri \$uri\.txt @app: there is a file for "\/files\/text\.txt"/);
  t.regex(await steps('/get/x', { method: 'DELETE' }), /location: the settings of limit_except apply: DELETE/);
  t.regex(await steps('/faulty/x?fail=1'), /precontent: aborts 100 % of the requests with 418/);
  t.regex(
    await steps('/', { host: 'real.org', headers: { 'x-real-ip': '192.0.2.1' } }),
    /the address of the client is 192\.0\.2\.1 from here on/,
  );
});

test.serial('what cannot be known is assumed, and said', async (t) => {
  const { node } = await shared_();
  t.deepEqual((await explain(node, '/asked/x')).assumptions, ['auth_request: /auth allows the request']);
  const wrong = await explain(node, '/private/x', { headers: basic('ada:wrong') });
  t.deepEqual(wrong.assumptions, ['auth_basic: the password of user "ada" is right']);
});

test.serial('an explanation counts nothing: the limit is as it was', async (t) => {
  const { node } = await shared_();
  for (let times = 0; times < 5; times++) t.is((await explain(node, '/', { port: 'limited' })).response.by, 'upstream');
  t.is((await real(node, '/', { port: 'limited' }))?.status, 200);
  t.is((await real(node, '/', { port: 'limited' }))?.status, 503);
  t.is((await explain(node, '/', { port: 'limited' })).response.status, 503);
  // Not its `keepalive`: members close idle connections.
  const peers = async (): Promise<unknown> => ((await node.upstreams('GET', '/hashed')).json as { readonly peers: unknown }).peers;
  const before = await peers();
  await explain(node, '/img/x?k=9');
  t.deepEqual(await peers(), before);
});

test.serial('a change of the API is explained as it is active', async (t) => {
  const { node } = await shared_();
  t.is((await node.upstreams('POST', '/byaddr/servers', { server: '127.0.0.9:1', down: true })).status, 201);
  const { members } = (await explain(node, '/addr/')).upstream!;
  t.like(members.at(-1), { server: '127.0.0.9:1', state: 'down', usable: false });
});

test.serial('no path of the server is shown', async (t) => {
  const { node } = await shared_();
  const text = JSON.stringify([await explain(node, '/files/none'), await explain(node, '/static/none'), await explain(node, '/private/x')]);
  t.false(text.includes(node.srv.prefix), text);
  t.false(text.includes('"place"'));
  t.false(text.includes('"log"'));
});

test.serial('errors name the parameter and say what to do', async (t) => {
  const { node } = await shared_();
  const errors: readonly (readonly [query: string, pointer: string, message: RegExp])[] = [
    ['', '?url', /is required/],
    ['url=', '?url', /must not have fewer than 1 characters/],
    ['url=nonsense', '?url', /write it like http:\/\/a\.org\/path\?args/],
    ['url=/x', '?url', /names no host: write a URL like http:\/\/a\.org\/path, or send the header "Host: a\.org"/],
    ['url=http://a.org:1/', '?url', /nothing listens on port 1: the listeners are 127\.0\.0\.1:/],
    [`url=https://a.org:${node.srv.port('site')}/`, '?url', /does not speak TLS: write the URL with http:\/\//],
    ['url=http://u:p@a.org/', '?url', /send the header "Authorization: Basic …" instead/],
    [`${query(node, '/', {})}&listen=127.0.0.1:2`, '?listen', /nothing listens on 127\.0\.0\.1:2/],
    [`${query(node, '/', {})}&listen=x`, '?listen', /host not found in "x"/],
    [`${query(node, '/', {})}&client=x`, '?client', /invalid client address "x": an IP address/],
    [`${query(node, '/', {})}&header=x`, '?header', /"x" is not a header field: write it as Name: value/],
    [`${query(node, '/', {})}&header=a%20b:c`, '?header', /invalid header name "a b"/],
    [query(node, '/', { method: 'G T' }), '?method', /invalid method "G T": a word like GET/],
    [`${query(node, '/', {})}&colour=red`, '?colour', /unknown parameter/],
    [`${query(node, '/', {})}&client=1.2.3.4&client=1.2.3.4`, '?client', /must be given once/],
  ];
  for (const [asked, pointer, message] of errors) {
    const answer = await node.call('GET', `/explain?${asked}`);
    t.is(answer.status, 400, asked);
    const error = errorOf(answer);
    t.is(error.code, 'InvalidField');
    t.is(error.details[0]?.pointer, pointer, asked);
    t.regex(error.details[0]?.message ?? '', message);
  }
});

test.serial('a malformed request is explained as well', async (t) => {
  const { node } = await shared_();
  const twice = await node.call(
    'GET',
    `/explain?${query(node, '/', { headers: { 'content-length': '1' } })}&header=Transfer-Encoding:%20chunked`,
  );
  t.like((twice.json as Explanation).response, { by: 'srv', status: 400 });
});
