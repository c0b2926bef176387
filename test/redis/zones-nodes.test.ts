/** Whole nodes that share the zones of their directives over Redis. */
import type { ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { get } from '../harness/client.js';
import { plugin } from '../harness/plugins.js';
import { RedisServer, testRedis } from '../harness/redis.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { jsonChallenge, post, SOLUTION, solve } from '../http/captcha-client.js';

const VISITS = plugin('acme_http_visits_module', {
  imports: `import { requiredParam, template, zone, zoneSync } from 'srv/module/args.js';
    import { Zones } from 'srv/module/zones.js';
    const KEY = {};`,
  manifest: `directives: {
      visits: directive({ in: ['http'], args: { key: template('key'), zone: requiredParam('zone', zone({ sync: 'count' })), sync: zoneSync() }, doc: 'Counts.' }),
    },
    variables: { visits: (request) => request.get(KEY) }`,
  body: `static services = [Zones];
    constructor(zones) { this.zones = zones; }
    compile({ conf: { visits } }) {
      const records = visits && this.zones.records(visits.zone, { fields: ['count'], ttl: 60_000 });
      return records && { preaccess: (request) => (request.set(KEY, String(records.add(visits.key.of(request), 'count', 1))), -1) };
    }`,
});

interface Backends {
  readonly slow: number;
  readonly one: number;
  readonly two: number;
}

function node(t: ExecutionContext, name: string, { port }: RedisServer, { slow, one, two }: Backends): Promise<Srv> {
  const servers = [`server 127.0.0.1:${one};`, `server 127.0.0.1:${two};`];
  // The order, and so the ids of members, differ.
  if (name === 'b') servers.reverse();
  return startSrv(
    t,
    `load_module modules/srv_redis_module.js; load_module modules/srv_http_captcha_module.js; load_module modules/srv_http_app_sticky_module.js; load_module modules/acme_http_visits_module.mjs; node_name ${name}; cluster_name shop;
    zone_sync_interval 50ms;
    error_log logs/error.log notice;
    redis main { url redis://127.0.0.1:${port}; }
    events {}
    http {
      limit_req_zone $arg_k zone=req:1m rate=1r/m sync;
      limit_conn_zone $arg_k zone=conn:1m sync=main;
      captcha_zone $arg_k zone=captcha:1m sync;
      captcha_session_zone sessions 1m sync;
      captcha_secret 0123456789abcdef0123456789abcdef;
      visits $arg_k zone=visits:1m sync;
      upstream app {
        sticky learn create=$upstream_cookie_s lookup=$cookie_s zone=learn:1m sync;
        ${servers.join(' ')}
      }
      upstream named { app_sticky zone=app:1m cookie:s sync; ${servers.join(' ')} }
      server {
        listen 127.0.0.1:%%PORT_web%%;
        location /req { limit_req zone=req burst=4 nodelay; proxy_pass http://127.0.0.1:${one}; }
        location /conn { limit_conn conn 1; proxy_pass http://127.0.0.1:${slow}; }
        location /captcha { captcha on; captcha_limit_rate captcha 8; captcha_mode pow; captcha_expire 1h; proxy_pass http://127.0.0.1:${one}; }
        location /visits { add_header X-Visits $visits; proxy_pass http://127.0.0.1:${one}; }
        location /app { proxy_pass http://app; }
        location /named { proxy_pass http://named; }
      }
    }`,
    { files: { 'modules/acme_http_visits_module.mjs': VISITS } },
  );
}

const at = (srv: Srv, path: string, headers = {}) => get(srv.port('web'), path, { headers });

testRedis('redis-server: a rate, connections, sessions, challenges and the zone of a module are those of all nodes', async (t) => {
  const server = await RedisServer.start(t);
  const waiting: (() => void)[] = [];
  const slow = await httpBackend(t, (_, response) => void waiting.push(() => response.end('ok')));
  const member = (name: string) =>
    httpBackend(t, (request, response) => {
      if (request.url?.endsWith('/begin') === true) response.setHeader('Set-Cookie', 's=42');
      response.end(name);
    });
  const [one, two] = await Promise.all([member('one'), member('two')]);
  const ports = { slow: slow.port, one: one.port, two: two.port };
  const [a, b] = await Promise.all([node(t, 'a', server, ports), node(t, 'b', server, ports)]);
  await Promise.all([a, b].map((srv) => srv.waitForLog(/redis "main": connected/)));

  // Five at one node leave none for the other one.
  for (let n = 0; n < 5; n++) t.is((await at(a, '/req?k=1')).status, 200);
  t.is((await at(a, '/req?k=1')).status, 503);
  let passed = 0;
  await waitFor('the rate', async () => {
    const { status } = await at(b, '/req?k=1');
    if (status === 200) passed++;
    return status === 503;
  });
  t.true(passed < 5);
  t.is((await at(b, '/req?k=2')).status, 200);

  const first = at(a, '/conn?k=1');
  await waitFor('the connection', () => waiting.length === 1);
  await waitFor('the limit', async () => {
    const response = at(b, '/conn?k=1');
    const status = await Promise.race([
      response.then((done) => done.status),
      waitFor('it to arrive', () => waiting.length > 1).then(() => 0),
    ]);
    if (status === 503) return true;
    waiting.pop()?.();
    await response;
    return false;
  });
  waiting.pop()?.();
  t.is((await first).status, 200);

  for (const path of ['/app', '/named']) {
    const name = (await at(a, `${path}/begin`)).body;
    const cookie = { cookie: 's=42' };
    await waitFor(`the session ${path}`, async () => {
      const bodies = await Promise.all(Array.from({ length: 6 }, async () => (await at(b, path, cookie)).body));
      return bodies.every((body) => body === name);
    });
  }

  const visits = async (srv: Srv) => Number((await at(srv, '/visits?k=visits')).headers['x-visits']);
  for (let n = 1; n <= 10; n++) t.is(await visits(a), n);
  await waitFor('the count', async () => (await visits(b)) > 10);

  const challenge = await jsonChallenge(a.port('web'), '/captcha?k=1');
  const fields = { token: challenge.token, work: solve(challenge.work!) };
  const solved = await post(a.port('web'), SOLUTION, fields);
  t.is(solved.status, 200);
  const pass = { cookie: String(solved.headers['set-cookie']).split(';')[0] };
  for (let n = 0; n < 20; n++) t.is((await at(b, '/captcha?k=1', pass)).status, 200);
  await waitFor('the other node knows the solution', async () => (await post(b.port('web'), SOLUTION, fields)).status === 403);
  for (const srv of [a, b]) t.notRegex(srv.log(), /ignored|not shared/);
});

const redis = (name: string): string => `redis ${name} { url redis://127.0.0.1:1; }`;

testRedis('redis-server: "sync" names a redis block, or there is one', async (t) => {
  const http = (sync: string, main: string) =>
    check(t, `load_module modules/srv_redis_module.js; ${main} events {} http { limit_req_zone $uri zone=one:1m rate=1r/s ${sync}; }`);
  t.is((await http('sync', redis('main'))).code, 0);
  t.is((await http('sync=other', redis('main') + redis('other'))).code, 0);
  t.regex((await http('sync', '')).stderr, /"sync" needs a "redis" block/);
  t.regex((await http('sync', redis('main') + redis('other'))).stderr, /"sync" does not say which "redis" block/);
  t.regex((await http('sync=x', redis('main'))).stderr, /there is no redis "x"/);
});
