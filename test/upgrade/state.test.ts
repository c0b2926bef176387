import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { followEvents } from '../control/event-client.js';
import { startNode, type Node } from '../control/node.js';
import { apiReady, commandUpgrade, endWithTest, isAlive, pidOf, upgrade } from './replaced.js';

interface Stage {
  readonly node: Node;
  readonly ports: readonly number[];
  /** What clients of the API saw while the program was replaced. */
  readonly changes: Changes;
  readonly before: readonly Peer[];
  readonly figures: Figures;
  readonly event: string;
}

interface Figures {
  readonly servers: Readonly<Record<string, Requests & { readonly active: number }>>;
  readonly upstreams: Readonly<Record<string, { readonly servers: Readonly<Record<string, { readonly attempts: number }>> }>>;
  readonly filters: Readonly<Record<string, { readonly keys: Readonly<Record<string, Requests>> }>>;
}
interface Requests {
  readonly requests: number;
  readonly responses: { readonly codes: Readonly<Record<string, number>> };
  readonly times: { readonly count: number; readonly sum: number };
}

interface Peer {
  readonly server: string;
  readonly state: string;
  readonly requests: number;
  readonly active: number;
  readonly fails: number;
  readonly responses: { readonly codes: Readonly<Record<string, number>> };
  readonly health_checks: { readonly checks: number; readonly last_passed?: boolean };
}

/** One upgrade for all tests: each looks at another part of what was there before. */
const stage = shared(async (t): Promise<Stage> => {
  const members = await Promise.all(
    ['one', 'two'].map((name) =>
      httpBackend(t, (request, response) => {
        response.setHeader('Set-Cookie', `sid=${name}-${request.url?.slice(-1) ?? ''}`);
        response.statusCode = request.url?.startsWith('/missing') === true ? 404 : 200;
        if (request.url?.startsWith('/hold') !== true) response.end(name);
      }),
    ),
  );
  const ports = members.map(({ port }) => port);
  const servers = ports.map((port) => `server 127.0.0.1:${port};`).join(' ');
  const node = await startNode(t, {
    main: ['http_health_check', 'http_events', 'http_vts', 'http_status_zone', 'http_plus_api']
      .map((name) => `load_module modules/srv_${name}_module.so;`)
      .join(' '),
    controlMain: ['http_health_check', 'http_events_api', 'http_vts_api', 'http_plus_api']
      .map((name) => `load_module modules/srv_${name}_module.so;`)
      .join(' '),
    http: `
      vts on; vts_filter_by_set_key $uri paths;
      limit_req_zone $arg_k zone=rate:64k rate=1r/m;
      limit_conn_zone $arg_k zone=conn:64k;
      upstream demo { zone demo 256k; ${servers} }
      upstream failing { zone failing 64k; server 127.0.0.1:1 max_fails=1 fail_timeout=1h; ${servers} }
      upstream checked { zone checked 64k; ${servers} health_check mandatory; health_check_http interval=1h { uri /; } }
      upstream learning { zone learning 64k; ${servers} sticky learn create=$upstream_cookie_sid lookup=$cookie_sid zone=sessions:64k; }`,
    server: `
      status_zone web;
      location / { proxy_pass http://demo; }
      location /missing { proxy_pass http://demo; }
      location /failing { proxy_pass http://failing; }
      location /checked { proxy_pass http://checked; }
      location /learning { proxy_pass http://learning; }
      location /limited { limit_req zone=rate; proxy_pass http://demo/; }
      location /conn { limit_conn conn 1; proxy_pass http://demo/hold; }
      location /free { limit_conn conn 1; proxy_pass http://demo/; }`,
  });
  endWithTest(t, node.srv);
  await waitFor('members that are checked', async () => (await peers(node, 'checked')).every(({ state }) => state === 'up'));
  for (let count = 0; count < 4; count++) await node.web('/');
  await node.web('/missing');
  for (let count = 0; count < 3; count++) await node.web('/failing');
  await node.web('/limited?k=a');
  await node.web('/learning1');
  await waitFor('the figures', async () => (await peers(node, 'demo')).every(({ active }) => active === 0));
  const before = await peers(node, 'demo');
  const figures = await figuresOf(node);
  const follower = await followEvents(t, node.srv.port('api'));
  await node.upstreams('POST', '/demo/servers/', { server: '127.0.0.1:1', down: true });
  await follower.event('config.changed');
  const event = follower.lastId;
  const held = get(node.srv.port('web'), '/conn?k=c', { timeoutMs: 60_000 }).catch(() => undefined);
  t.teardown(() => held);
  await waitFor('the request that is held', () => members.some(({ requests }) => requests.some(({ url }) => url?.startsWith('/hold'))));
  const changes = new Changes(node);
  await upgrade(node.srv);
  await apiReady(node);
  await sleep(200);
  await changes.end();
  return { node, ports, changes, before, figures, event };
});

const peers = async (node: Node, name: string): Promise<readonly Peer[]> =>
  ((await node.upstreams('GET', `/${name}`)).json as { readonly peers: readonly Peer[] }).peers;

const figuresOf = async (node: Node): Promise<Figures> => (await node.call('GET', '/vts')).json as Figures;

/** Adds members and keys through the API, one after the other. */
class Changes {
  readonly made: string[] = [];
  readonly rejected: string[] = [];
  readonly broken: string[] = [];
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(private readonly node: Node) {
    this.#ended = this.#run();
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #run(): Promise<void> {
    for (let number = 2; !this.#isOver; number++) await this.#add(`127.0.0.1:${number}`);
  }

  async #add(server: string): Promise<void> {
    try {
      const { status, body, headers } = await this.node.upstreams('POST', '/demo/servers/', { server, down: true });
      if (status === 201) this.made.push(server);
      else if (status === 503 && headers['retry-after'] !== undefined) this.rejected.push(body);
      else this.broken.push(`${status} ${body}`);
    } catch (error) {
      this.broken.push((error as Error).message);
    }
  }
}

test('no answered change is lost, and no call is rejected or cut', async (t) => {
  const { node, changes } = await stage();
  t.deepEqual(changes.broken, []);
  const servers = new Set((await node.members()).map(({ server }) => server));
  t.deepEqual(
    changes.made.filter((server) => !servers.has(server)),
    [],
  );
  t.true(changes.made.length > 2);
  t.log(`${changes.made.length} changes, ${changes.rejected.length} to be repeated`);
});

test('figures of members go on', async (t) => {
  const { node, before } = await stage();
  const now = await peers(node, 'demo');
  for (const { server, requests, responses } of before) {
    const same = now.find((peer) => peer.server === server);
    t.true(same !== undefined && same.requests >= requests && requests > 0);
    for (const [code, count] of Object.entries(responses.codes)) t.true((same?.responses.codes[code] ?? 0) >= count);
  }
});

test('statistics go on, with what is under way at the old program', async (t) => {
  const { node, ports, figures } = await stage();
  const now = await figuresOf(node);
  const [was, is] = [figures.servers['web']!, now.servers['web']!];
  t.true(was.requests >= 10 && is.requests >= was.requests, `${is.requests} after ${was.requests}`);
  t.true((is.responses.codes['404'] ?? 0) === 1 && is.times.count === is.requests && is.times.sum >= was.times.sum);
  t.true(is.active >= 1, 'the request that the old program holds');
  t.like(now.filters['paths']!.keys['/missing'], { requests: 1, responses: { codes: { 404: 1 } } });
  for (const port of ports) {
    const attempts = ({ upstreams }: Figures): number => upstreams['demo']!.servers[`127.0.0.1:${port}`]!.attempts;
    t.true(attempts(figures) > 0 && attempts(now) >= attempts(figures));
  }
  const { body } = await get(node.srv.port('api'), '/api/9/http/server_zones/web');
  const zone = JSON.parse(body) as { readonly requests: number; readonly processing: number };
  t.true(zone.requests >= was.requests && zone.processing >= 1, body);
});

test('a member that failed gets no requests', async (t) => {
  const { node } = await stage();
  t.like((await peers(node, 'failing'))[0], { state: 'unavail', fails: 1 });
});

test('members that passed their checks need no others', async (t) => {
  const { node } = await stage();
  for (const peer of await peers(node, 'checked')) {
    t.is(peer.state, 'up');
    t.like(peer.health_checks, { last_passed: true });
  }
  t.is((await node.web('/checked')).status, 200);
});

test('a session stays at the member that began it', async (t) => {
  const { node } = await stage();
  const cookie = { Cookie: 'sid=one-1' };
  const names = new Set<string>();
  for (const value of ['one-1', 'two-1']) {
    for (let count = 0; count < 4; count++) {
      const { body } = await get(node.srv.port('web'), '/learning', { headers: { Cookie: `sid=${value}` } });
      if (value === cookie.Cookie.slice(4)) names.add(body);
    }
  }
  t.is(names.size, 1);
});

test('a rate goes on, and connections of the old program count', async (t) => {
  const { node } = await stage();
  t.is((await node.web('/limited?k=a')).status, 503);
  t.is((await node.web('/limited?k=b')).status, 200);
  t.is((await node.web('/free?k=c')).status, 503);
  t.is((await node.web('/free?k=d')).status, 200);
});

test('readers of events go on where they were', async (t) => {
  const { node, event } = await stage();
  const follower = await followEvents(t, node.srv.port('api'), `?last_event_id=${event}`);
  await follower.event('server.started');
  t.false(
    follower.events.some(({ type }) => type === 'gap'),
    follower.text,
  );
});

test('the command ends when the pid file names the new program; one that is told to end at once logs no error', async (t) => {
  const { srv } = await startNode(t);
  const { code, stderr } = await commandUpgrade(srv);
  const second = pidOf(srv);
  t.is(code, 0, stderr);
  t.not(second, srv.pid);
  process.kill(second, 'SIGQUIT');
  await waitFor('the end of both', () => !srv.running && !isAlive(second), 30_000);
  t.is(srv.read('logs/srv.pid'), '');
  t.notRegex(srv.log() + srv.read('logs/ctrl.log'), /\[(error|crit|alert|emerg)\]|ENOENT/);
});
