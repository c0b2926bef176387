import { createHash } from 'node:crypto';
import test from 'ava';
import { check } from '../harness/check.js';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { shared } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

interface Setting {
  readonly srv: Srv;
  readonly ports: readonly number[];
}

const MAIN = 'load_module modules/srv_http_app_sticky_module.js; worker_processes 2; error_log logs/error.log notice; events {} http {';

/** Each upstream at the location of its name; the members are a, b and c, which say who they are and begin the session they are asked to. */
const setting = shared<Setting>(async (t) => {
  const backends = Array.from({ length: 3 }, (_, at) =>
    httpBackend(t, (request, response) => {
      const session = new URL(request.url ?? '', 'http://a').searchParams.get('begin');
      if (session !== null) response.setHeader('Set-Cookie', `sid=${session}`).setHeader('X-Session', session);
      response.end('abc'[at]);
    }),
  );
  const ports = (await Promise.all(backends)).map(({ port }) => port);
  const [a, b, c] = ports.map((port) => `server 127.0.0.1:${port}`);
  const upstreams = {
    cookie: `${a}; ${b}; ${c}; sticky cookie srv_id;`,
    named: `${a} route=one; ${b} route=two; sticky cookie srv_id path=/shop domain=.$host samesite=strict httponly secure;`,
    hour: `${a}; ${b}; sticky cookie srv_id expires=1h;`,
    max: `${a}; sticky cookie srv_id expires=max;`,
    drained: `${a} route=one drain; ${b} route=two; ${c} route=down down; sticky cookie srv_id;`,
    route: `${a} route=one; ${b} route=two; ${c}; sticky route $cookie_way $arg_way;`,
    learn: `${a}; ${b}; ${c}; sticky learn create=$upstream_cookie_sid lookup=$cookie_sid zone=sessions:64k;`,
    header: `least_conn; ${a}; ${b}; sticky learn create=$upstream_cookie_sid lookup=$arg_sid zone=early:64k timeout=1h header;`,
    app: `${a}; ${b}; ${c}; app_sticky zone=apps:64k cookie:sid;`,
    field: `${a}; ${b}; ${c}; app_sticky zone=fields:64k header:X-Session ttl=1h;`,
    hashed: `hash $arg_k; ${a} route=one; ${b} route=two; ${c}; sticky cookie srv_id;`,
    failing: `server 127.0.0.1:1 route=dead max_fails=0; ${b} route=two; sticky cookie srv_id;`,
  };
  const blocks = Object.entries(upstreams).map(([name, lines]) => `upstream ${name} { zone ${name} 64k; ${lines} }`);
  const locations = Object.keys(upstreams).map((name) => `location /${name} { proxy_pass http://${name}; proxy_next_upstream_tries 0; }`);
  const srv = await startSrv(t, `${MAIN} ${blocks.join('\n')} server { listen 127.0.0.1:%%PORT_web%%; ${locations.join('\n')} } }`);
  return { srv, ports };
});

async function ask(path: string, cookie?: string): Promise<{ body: string; set: readonly string[] }> {
  const { srv } = await setting();
  const { body, headers } = await get(srv.port('web'), path, cookie === undefined ? {} : { headers: { Cookie: cookie } });
  return { body, set: headers['set-cookie'] ?? [] };
}

async function bodies(path: string, times: number, cookie?: string): Promise<string> {
  let all = '';
  for (let sent = 0; sent < times; sent++) all += (await ask(path, cookie)).body;
  return all;
}

test('sticky cookie: the MD5 of the address, sent to clients without it; the other ones in turn', async (t) => {
  const { ports } = await setting();
  const seen = new Set<string>();
  for (let sent = 0; sent < 3; sent++) {
    const { body, set } = await ask('/cookie');
    const id = createHash('md5')
      .update(`127.0.0.1:${ports['abc'.indexOf(body)]}`)
      .digest('hex');
    t.deepEqual(set, [`srv_id=${id}`]);
    seen.add(body);
    t.is(await bodies('/cookie', 6, `x=1; srv_id=${id}`), body.repeat(6));
    t.deepEqual((await ask('/cookie', `srv_id=${id}`)).set, []);
  }
  t.is(seen.size, 3);
  const { set } = await ask('/cookie', 'srv_id=unknown');
  t.is(set.length, 1);
});

test('sticky cookie: route, path, domain with a variable, flags, expires', async (t) => {
  const { body, set } = await ask('/named');
  t.deepEqual(set, [`srv_id=${body === 'a' ? 'one' : 'two'}; domain=.127.0.0.1; path=/shop; samesite=strict; httponly; secure`]);
  t.is(await bodies('/named', 4, 'srv_id=two'), 'bbbb');
  t.regex((await ask('/hour')).set[0] ?? '', /^srv_id=[0-9a-f]{32}; expires=\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT; max-age=3600$/);
  const again = (await ask('/hour')).set[0] ?? '';
  t.is((await ask('/hour', again.split(';')[0])).set.length, 1, 'the time begins anew');
  t.regex((await ask('/max')).set[0] ?? '', /; expires=Thu, 31 Dec 2037 23:55:55 GMT; max-age=315360000$/);
});

test('sticky cookie and drain: bound clients still get there, others do not; nobody gets to one that is down', async (t) => {
  t.is(await bodies('/drained', 6, 'srv_id=one'), 'aaaaaa');
  t.is(await bodies('/drained', 6), 'bbbbbb');
  const moved = await ask('/drained', 'srv_id=down');
  t.deepEqual(moved, { body: 'b', set: ['srv_id=two'] });
});

test('sticky cookie: a member that fails is left, and the client bound to another one', async (t) => {
  t.deepEqual(await ask('/failing', 'srv_id=dead'), { body: 'b', set: ['srv_id=two'] });
});

test('sticky cookie over hash: clients that are not bound go by the hash', async (t) => {
  const alike = await bodies('/hashed?k=1', 5);
  t.is(new Set(alike).size, 1);
  t.is(await bodies('/hashed?k=1', 3, 'srv_id=one'), 'aaa');
  t.is(await bodies('/hashed?k=1', 3, 'srv_id=two'), 'bbb');
});

test('sticky route: the first variable that is not empty; without one, and for an unknown route, in turn', async (t) => {
  t.is(await bodies('/route?way=two', 4), 'bbbb');
  t.is(await bodies('/route?way=two', 4, 'way=one'), 'aaaa');
  for (const path of ['/route', '/route?way=none']) t.is(new Set(await bodies(path, 6)).size, 3, path);
  t.deepEqual((await ask('/route?way=two')).set, []);
});

test('sticky learn: a session stays at the member that began it, in all workers', async (t) => {
  for (const session of ['one', 'two', 'three', 'four']) {
    const { body } = await ask(`/learn?begin=${session}`);
    // The client may have the end of the response before the session is there.
    await waitFor('the session', async () => (await bodies('/learn', 4, `sid=${session}`)) === body.repeat(4));
    t.is(await bodies('/learn', 8, `sid=${session}`), body.repeat(8));
  }
  t.is(new Set(await bodies('/learn', 6, 'sid=unknown')).size, 3);
  const { body } = await ask('/header?begin=early');
  t.is(await bodies('/header?sid=early', 6), body.repeat(6));
});

test('app_sticky: a cookie or a header field that the server sets; an unknown session goes in turn', async (t) => {
  const { srv } = await setting();
  for (const session of ['one', 'two', 'three']) {
    const { body } = await ask(`/app?begin=${session}`);
    t.is(await bodies('/app', 6, `sid=${session}`), body.repeat(6));
    const { body: begun } = await ask(`/field?begin=${session}`);
    for (let sent = 0; sent < 4; sent++) t.is((await get(srv.port('web'), '/field', { headers: { 'X-Session': session } })).body, begun);
  }
  t.is(new Set(await bodies('/app', 6, 'sid=unknown')).size, 3);
});

test('sticky learn and sticky cookie: clients of a backup member return when a primary is back, and stay there', async (t) => {
  const { ports } = await setting();
  const primaries = [await freePort(t), await freePort(t)];
  const lines = primaries.map((port) => `server 127.0.0.1:${port} fail_timeout=1s;`).join(' ');
  const members = `zone %s 64k; ${lines} server 127.0.0.1:${ports[1]} backup;`;
  const upstream = (name: string, line: string): string => `upstream ${name} { ${members.replace('%s', name)} ${line} }`;
  const srv = await startSrv(
    t,
    `${MAIN} ${upstream('learn', 'sticky learn create=$upstream_cookie_sid lookup=$cookie_sid zone=s:64k header;')}
     ${upstream('cookie', 'least_conn; sticky cookie srv_id;')}
     server { listen 127.0.0.1:%%PORT_web%%; location /learn { proxy_pass http://learn; } location /cookie { proxy_pass http://cookie; } } }`,
  );
  const at = async (path: string, cookie = ''): Promise<{ body: string; set: string }> => {
    const { body, headers } = await get(srv.port('web'), path, { headers: { Cookie: cookie } });
    return { body, set: headers['set-cookie']?.[0] ?? '' };
  };
  t.is((await at('/learn?begin=x')).body, 'b');
  const { body, set } = await at('/cookie');
  t.is(body, 'b');
  for (const path of ['/learn', '/cookie']) t.is((await at(path, `sid=x; ${set}`)).body, 'b');
  for (const [at, port] of primaries.entries()) await httpBackend(t, (_, response) => response.end(`primary ${at}`), port);
  const back = async (path: string, cookie = ''): Promise<void> => {
    const seen = new Set<string>();
    await waitFor('both primaries', async () => seen.add((await at(path, cookie)).body).has('primary 0') && seen.has('primary 1'));
  };
  await back('/learn');
  const learnt = await at('/learn', 'sid=x');
  t.regex(learnt.body, /^primary/);
  await back('/cookie');
  const moved = await at('/cookie', set);
  t.regex(moved.body, /^primary/);
  for (let sent = 0; sent < 4; sent++) {
    t.deepEqual(await at('/cookie', moved.set), { body: moved.body, set: '' });
    t.is((await at('/learn', 'sid=x')).body, learnt.body);
  }
});

const learning = (members: string, other: string): string =>
  `${MAIN} upstream u { zone u 64k; ${members} sticky learn create=$upstream_cookie_sid lookup=$cookie_sid zone=s:64k header; } ${other}
   server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://u; } } }`;

test('sticky learn: sessions survive a reload that does not concern them; a session moves with the member that begins it again', async (t) => {
  const { ports } = await setting();
  const [a, b, c] = ports.map((port) => `server 127.0.0.1:${port};`);
  const srv = await startSrv(t, learning(`${a} ${b}`, ''));
  const at = async (cookie: string, path = '/'): Promise<string> =>
    (await get(srv.port('web'), path, { headers: { Cookie: cookie } })).body;
  const begun = await at('', '/?begin=x');
  await srv.configure(learning(`${a} ${b} ${c}`, 'upstream other { server 127.0.0.1:1; }'));
  srv.signal('SIGHUP');
  await waitFor('the reload', () => srv.log().includes('reconfigured'));
  for (let sent = 0; sent < 6; sent++) t.is(await at('sid=x'), begun);
  let moved = begun;
  for (let sent = 0; moved === begun && sent < 6; sent++) moved = await at('', '/?begin=x');
  t.not(moved, begun);
  for (let sent = 0; sent < 4; sent++) t.is(await at('sid=x'), moved);
});

for (const [lines, error] of [
  ['sticky;', 'invalid number of arguments in "sticky" directive'],
  ['sticky cookie;', 'invalid number of arguments in "sticky" directive'],
  ['sticky cookie a b;', 'invalid number of arguments in "sticky" directive'],
  ['sticky cookie $uri;', 'invalid cookie name in "sticky" directive'],
  ['app_sticky zone=z:64k sid;', 'invalid session "sid"'],
  ['sticky route;', 'invalid number of arguments in "sticky" directive'],
  ['sticky cookie a zone=z:64k;', 'invalid parameter "zone=z:64k"'],
  ['sticky learn create=$uri lookup=$uri;', '"sticky learn" must have "create", "lookup" and "zone" parameters'],
  ['sticky learn create=$uri lookup=$uri zone=z:64k sync;', '"sync" needs a "redis" block'],
  [
    'sticky learn create=$uri lookup=$uri zone=z:64k; } upstream v { server 127.0.0.1:1; sticky learn create=$uri lookup=$uri zone=z:64k;',
    'the shared memory zone "z" is already declared for a different use',
  ],
  [
    'app_sticky zone=z:64k cookie:a; } upstream v { server 127.0.0.1:1; app_sticky zone=z:64k cookie:a;',
    'the shared memory zone "z" is already declared for a different use',
  ],
  ['app_sticky zone=z:64k cookie:a; sticky cookie b;', '"sticky" directive is duplicate'],
  ['zone z 256k; app_sticky zone=z:64k cookie:a;', 'the shared memory zone "z" is already declared for a different use'],
] as const)
  test(`rejected: ${lines}`, async (t) => {
    const conf = `load_module modules/srv_http_app_sticky_module.js; events {} http { upstream u { server 127.0.0.1:1; ${lines} } server { listen 127.0.0.1:%%PORT_web%%; } }`;
    const run = await check(t, conf);
    t.is(run.code, 1);
    t.true(run.stderr.includes(`[emerg] ${error} in `), run.stderr);
    t.is(run.stderr.match(/\[emerg\]/g)?.length, 1, run.stderr);
  });
