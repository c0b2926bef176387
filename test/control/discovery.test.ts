import { Agent, createServer, get as httpGet, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { check } from '../harness/check.js';
import { httpBackend } from '../harness/backends.js';
import { get } from '../harness/client.js';
import { dnsServer, type DnsServer } from '../harness/dns-server.js';
import { startSrv } from '../harness/srv.js';
import { shared as sharedInFile, type Scope } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { followEvents } from './event-client.js';
import { startNode, type Node } from './node.js';

/** Addresses of backends: all listen on one port, and say which one was asked. */
const ADDRESSES = Array.from({ length: 12 }, (_, n) => `127.0.0.${n + 2}`);

interface Site {
  readonly node: Node;
  readonly dns: DnsServer;
  /** Of the backends. */
  readonly port: number;
  /** How many connections are open to an address. */
  readonly open: (address: string) => number;
}

interface Backends {
  readonly port: number;
  readonly open: Site['open'];
}

/** Servers on all addresses and one port. */
async function backends(t: Scope): Promise<Backends> {
  for (;;) {
    const servers = new Map<string, Server>();
    const connections = new Map<string, number>();
    const close = (): void => {
      for (const server of servers.values()) {
        server.close();
        server.closeAllConnections();
      }
    };
    try {
      let port = 0;
      for (const address of ADDRESSES) {
        const server = createServer(
          (request, response) => void setTimeout(() => response.end(address), Number(request.headers['x-wait'] ?? 0)),
        );
        server.on('connection', (socket) => {
          connections.set(address, (connections.get(address) ?? 0) + 1);
          socket.once('close', () => connections.set(address, (connections.get(address) ?? 0) - 1));
        });
        servers.set(address, server);
        await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, address, resolve));
        ({ port } = server.address() as AddressInfo);
      }
      t.teardown(close);
      return { port, open: (address) => connections.get(address) ?? 0 };
    } catch (error) {
      close();
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}

const NAMES = ['late', 'move', 'idle', 'empty', 'grace', 'fail', 'added', 'parent', 'kept', 'stream'];
/** Names of the upstream that changes under load. */
const MANY = Array.from({ length: 350 }, (_, n) => `n${n}.load.test`);

const shared = sharedInFile(async (scope): Promise<Site> => {
  const dns = await dnsServer(scope);
  const { port, open } = await backends(scope);
  for (const name of NAMES) dns.a(`${name}.test`, ['127.0.0.2'], 1);
  dns.a('dead.test', ['127.0.0.98', '127.0.0.99']);
  dns.fail('late.test', 'silent');
  for (const name of MANY) dns.a(name, ['127.0.0.2'], 1);
  const resolver = `resolver 127.0.0.1:${dns.port} ipv6=off nxdomain_grace=3s; resolver_timeout 1s;`;
  const upstream = (name: string, lines: string): string => `upstream ${name} { zone ${name} 256k; ${resolver} ${lines} }`;
  const lines: Readonly<Record<string, string>> = {
    ...Object.fromEntries(NAMES.map((name) => [name, `server ${name}.test:${port} resolve;`])),
    added: `server 127.0.0.9:${port};`,
    dead: `server dead.test:${port} resolve;`,
    service: 'server svc.test service=http resolve;',
    load: '',
    stated: 'state stated.conf;',
    checked: `server checked.test:${port} resolve; health_check mandatory; health_check_tcp interval=100ms {}`,
    queued: `server queued.test:${port} resolve; queue 10 timeout=10s;`,
  };
  const node = await startNode(scope, {
    main: `load_module modules/srv_http_health_check_module.so; load_module modules/srv_http_events_module.so; load_module modules/srv_http_config_module.so;
      stream {
        ${resolver}
        upstream move { zone move 64k; server stream.test:${port} resolve; }
        upstream service { zone service 64k; server streamed.test service=http resolve; }
        server { listen 127.0.0.1:%%PORT_stream%%; proxy_pass move; }
        server { listen 127.0.0.1:%%PORT_service%%; proxy_pass service; }
      }`,
    http: `${Object.entries(lines)
      .map(([name, text]) => upstream(name, text))
      .join('\n')}
      upstream plain { zone plain 64k; server 127.0.0.9:${port}; }`,
    server: Object.keys(lines)
      .map((name) => `location /${name} { proxy_pass http://${name}; }`)
      .join(' '),
    controlMain: 'load_module modules/srv_http_events_api_module.so; load_module modules/srv_http_config_api_module.so;',
  });
  return { node, dns, port, open };
});

/** Addresses of the members of an upstream that a name was resolved to. */
async function found({ node, port }: Site, upstream: string): Promise<string[]> {
  const members = await node.members(upstream);
  return members.flatMap(({ server, parent }) => (parent === undefined ? [] : server.replace(`:${port}`, ''))).toSorted();
}

function resolved(site: Site, upstream: string, ...addresses: readonly string[]): Promise<true> {
  return waitFor(`${upstream} at ${addresses.join()}`, async () => {
    if ((await found(site, upstream)).join() === addresses.join()) return true;
    // A call of the API takes more of the processor than a request.
    await sleep(50);
    return false;
  });
}

test('a start waits for no name: the server serves, and the member comes when the name has an address', async (t) => {
  const site = await shared();
  const { node, dns } = site;
  t.is((await node.web('/late')).status, 502);
  t.like((await node.members('late'))[0], { id: 0, server: `late.test:${site.port}`, state: 'resolving' });
  t.like((await node.upstreams('GET', '/late')).json, { peers: [{ id: 0, state: 'resolving', requests: 0 }] });
  await node.srv.waitForLog(/\[error\].*late\.test could not be resolved \(110: Operation timed out\)/);
  dns.heal('late.test');
  await resolved(site, 'late', '127.0.0.2');
  t.is((await node.web('/late')).body, '127.0.0.2');
  t.false('state' in ((await node.members('late'))[0] ?? {}));
});

test('new addresses get requests, old ones none, and events tell of both', async (t) => {
  const site = await shared();
  const { node, dns, port } = site;
  const events = await followEvents(t, node.srv.port('api'));
  await resolved(site, 'move', '127.0.0.2');
  const [, first] = await node.members('move');
  dns.a('move.test', ['127.0.0.3', '127.0.0.4'], 1);
  await resolved(site, 'move', '127.0.0.3', '127.0.0.4');
  const seen = new Set<string>();
  for (let n = 0; n < 6; n++) seen.add((await node.web('/move')).body);
  t.deepEqual([...seen].toSorted(), ['127.0.0.3', '127.0.0.4']);
  const added = await events.event('member.added', { upstream: 'move', server: `127.0.0.3:${port}` });
  t.like(added.data, { name: `move.test:${port}`, parent: 0, reason: `resolved from "move.test:${port}"` });
  const removed = await events.event('member.removed', { upstream: 'move', server: `127.0.0.2:${port}` });
  t.is(removed.data['id'], first?.id);
});

test('a member whose address goes finishes its request, and its idle connections are closed', async (t) => {
  const site = await shared();
  const { node, dns, open } = site;
  dns.a('idle.test', ['127.0.0.12'], 1);
  await resolved(site, 'idle', '127.0.0.12');
  t.is((await node.web('/idle')).body, '127.0.0.12');
  t.true(open('127.0.0.12') > 0);
  const slow = new Promise<string>((resolve, reject) => {
    httpGet({ host: '127.0.0.1', port: node.srv.port('web'), path: '/idle', headers: { 'x-wait': '2500' }, agent: false }, (response) => {
      response.setEncoding('utf8').once('data', resolve);
    }).once('error', reject);
  });
  dns.a('idle.test', ['127.0.0.2'], 1);
  await resolved(site, 'idle', '127.0.0.2');
  t.is(await slow, '127.0.0.12');
  await waitFor('the end of its connections', () => open('127.0.0.12') === 0);
});

test('the log says which address of a name failed', async (t) => {
  const site = await shared();
  await resolved(site, 'dead', '127.0.0.98', '127.0.0.99');
  t.is((await site.node.web('/dead')).status, 502);
  for (const address of ['127.0.0.98', '127.0.0.99'])
    await site.node.srv.waitForLog(
      new RegExp(
        String.raw`\[warn\].*server temporarily disabled: "${address}:${site.port}" of "dead\.test:${site.port}" in upstream "dead"`,
      ),
    );
});

test('an empty reply empties the name; failures of servers do not, whatever they are', async (t) => {
  const site = await shared();
  const { node, dns } = site;
  await resolved(site, 'fail', '127.0.0.2');
  dns.fail('fail.test', 'servfail');
  await resolved(site, 'empty', '127.0.0.2');
  dns.a('empty.test', [], 1);
  await resolved(site, 'empty');
  t.is((await node.web('/empty')).status, 502);
  dns.fail('fail.test', 'silent');
  const asked = dns.count('fail.test');
  await waitFor('another lookup', () => dns.count('fail.test') > asked);
  t.deepEqual(await found(site, 'fail'), ['127.0.0.2']);
  t.is((await node.web('/fail')).status, 200);
});

test('a name that does not exist any more keeps its addresses for nxdomain_grace', async (t) => {
  const site = await shared();
  const { node, dns } = site;
  await resolved(site, 'grace', '127.0.0.2');
  const asked = dns.count('grace.test');
  dns.remove('grace.test');
  await waitFor('two lookups', () => dns.count('grace.test') >= asked + 2);
  t.deepEqual(await found(site, 'grace'), ['127.0.0.2']);
  t.is((await node.web('/grace')).status, 200);
  await resolved(site, 'grace');
  dns.a('grace.test', ['127.0.0.3'], 1);
  await resolved(site, 'grace', '127.0.0.3');
});

test('a service has the ports, the weights and the ranks of its SRV records', async (t) => {
  const site = await shared();
  const { node, dns, port } = site;
  dns.a('one.test', ['127.0.0.2'], 1);
  dns.a('two.test', ['127.0.0.3'], 1);
  dns.a('three.test', ['127.0.0.4'], 1);
  const records = (rank: number): Parameters<DnsServer['srv']>[1] => [
    { target: 'one.test', port, priority: rank, weight: 3 },
    { target: 'two.test', port, priority: rank, weight: 1 },
    { target: 'three.test', port, priority: 20, weight: 5 },
  ];
  dns.srv('_http._tcp.svc.test', records(10), 1);
  await resolved(site, 'service', '127.0.0.2', '127.0.0.3', '127.0.0.4');
  const members = await node.members('service');
  t.like(members[0], { id: 0, server: 'svc.test', service: 'http' });
  t.deepEqual(
    members
      .slice(1)
      .map(({ server, weight, backup, host, parent }) => [server, weight, backup, host, parent].join(' '))
      .toSorted(),
    [`127.0.0.2:${port} 3 false svc.test 0`, `127.0.0.3:${port} 1 false svc.test 0`, `127.0.0.4:${port} 5 true svc.test 0`],
  );
  const counts = new Map<string, number>();
  for (let n = 0; n < 8; n++) {
    const { body } = await node.web('/service');
    counts.set(body, (counts.get(body) ?? 0) + 1);
  }
  t.deepEqual(Object.fromEntries(counts), { '127.0.0.2': 6, '127.0.0.3': 2 });
  dns.srv('_http._tcp.svc.test', records(20), 1);
  await waitFor('servers of one rank', async () => (await node.members('service')).every(({ backup }) => backup === false));
  t.is(new Set((await node.members('service')).map(({ id }) => id)).size, 4);
});

test('members of a name belong to their server: it is changed and removed with them, they are not alone', async (t) => {
  const site = await shared();
  const { node, port, dns } = site;
  dns.a('parent.test', ['127.0.0.2', '127.0.0.3'], 1);
  await resolved(site, 'parent', '127.0.0.2', '127.0.0.3');
  const [parent, child] = await node.members('parent');
  t.like(child, { host: `parent.test:${port}`, parent: 0, weight: 1 });
  for (const [method, body] of [
    ['DELETE', undefined],
    ['PATCH', { server: '127.0.0.9:80' }],
  ] as const) {
    const response = await node.upstreams(method, `/parent/servers/${child?.id}`, body);
    t.is(response.status, 400);
    t.is(errorOf(response).code, 'UpstreamServerImmutable');
  }
  t.is((await node.upstreams('PATCH', '/parent/servers/0', { weight: 7, max_conns: 9 })).status, 200);
  const changed = await node.members('parent');
  t.deepEqual(
    changed.map(({ id, weight, max_conns }) => [id, weight, max_conns]),
    [parent?.id, child?.id, changed[2]?.id].map((id) => [id, 7, 9]),
  );
  // What GET returned is sent back, and nothing changes.
  const { headers, json } = await node.upstreams('GET', '/parent/servers/');
  const put = await node.upstreams('PUT', '/parent/servers/', json);
  t.is(put.status, 200, put.body);
  t.deepEqual(put.json, json);
  t.is((await node.upstreams('GET', '/parent/servers/')).headers['etag'], headers['etag']);
  t.is((await node.upstreams('DELETE', '/parent/servers/0')).status, 200);
  t.deepEqual(await node.members('parent'), []);
  t.is((await node.web('/parent')).status, 502);
});

test('a name is added by API where there is a resolver, and only there', async (t) => {
  const site = await shared();
  const { node, port } = site;
  const refused = await node.upstreams('POST', '/plain/servers/', { server: `added.test:${port}` });
  t.is(errorOf(refused).code, 'UpstreamConfNoResolver');
  const dry = await node.upstreams('POST', '/added/servers/?dry_run=1', { server: `added.test:${port}` });
  t.deepEqual((dry.json as { diff: unknown }).diff, ['http / upstream added', `+ server added.test:${port} resolve;`]);
  t.deepEqual(await found(site, 'added'), []);
  const added = await node.upstreams('POST', '/added/servers/', { server: `added.test:${port}`, weight: 2 });
  t.is(added.status, 201);
  t.like(added.json, { id: 1, server: `added.test:${port}`, weight: 2, state: 'resolving' });
  await resolved(site, 'added', '127.0.0.2');
  const service = await node.upstreams('POST', '/added/servers/', { server: 'svc.test:80', service: 'http' });
  t.is(errorOf(service).code, 'UpstreamBadAddress');
  t.is((await node.upstreams('POST', '/added/servers/?dry_run=1', { server: 'svc.test', service: 'http' })).status, 200);
});

test('addresses are no configuration: no version, no drift', async (t) => {
  const site = await shared();
  const { node, dns } = site;
  await resolved(site, 'kept', '127.0.0.2');
  const { headers } = await node.upstreams('GET', '/kept/servers/');
  dns.a('kept.test', ['127.0.0.5'], 1);
  await resolved(site, 'kept', '127.0.0.5');
  t.is((await node.upstreams('GET', '/kept/servers/')).headers['etag'], headers['etag']);
  const { json } = await node.call('GET', '/config/effective');
  t.false(JSON.stringify(json).includes('127.0.0.5'));
});

test('upstreams of stream follow names and services as well, through the resolver of stream', async (t) => {
  const { node, dns, port } = await shared();
  const by = async (name: string): Promise<string> => {
    try {
      return (await get(node.srv.port(name), '/')).body;
    } catch {
      return 'none';
    }
  };
  t.true(await waitFor('the first address', async () => (await by('stream')) === '127.0.0.2'));
  dns.a('stream.test', ['127.0.0.7'], 1);
  t.true(await waitFor('the next address', async () => (await by('stream')) === '127.0.0.7'));
  dns.srv('_http._tcp.streamed.test', [{ target: 'stream.test', port }], 1);
  t.true(await waitFor('the service', async () => (await by('service')) === '127.0.0.7'));
});

test('a state file has the server with the name, and none of its addresses', async (t) => {
  const site = await shared();
  const { node, dns, port } = site;
  dns.a('stated.test', ['127.0.0.8'], 1);
  t.is((await node.upstreams('POST', '/stated/servers/', { server: `stated.test:${port}` })).status, 201);
  await resolved(site, 'stated', '127.0.0.8');
  dns.a('stated.test', ['127.0.0.9'], 1);
  await resolved(site, 'stated', '127.0.0.9');
  const lines = await waitFor('the state file', () => node.srv.read('stated.conf').match(/^server .*$/gm) ?? undefined);
  t.deepEqual(lines, [`server stated.test:${port} resolve;`]);
});

test('requests that wait in a queue are served when the name has an address', async (t) => {
  const { node, dns } = await shared();
  const waiting = node.web('/queued');
  dns.a('queued.test', ['127.0.0.10'], 1);
  t.is((await waiting).body, '127.0.0.10');
});

test('new addresses are checked before they get requests, and keep what is known of their health', async (t) => {
  const site = await shared();
  const { node, dns, port } = site;
  type Peer = Readonly<Record<'server' | 'state', string>> & { readonly health_checks: { readonly checks: number } };
  const peers = async (): Promise<Peer[]> => ((await node.upstreams('GET', '/checked')).json as { peers: Peer[] }).peers;
  const at = async (address: string): Promise<Peer | undefined> => (await peers()).find(({ server }) => server === `${address}:${port}`);
  dns.a('checked.test', ['127.0.0.2', '127.0.0.99'], 1);
  await waitFor('both', async () => (await peers()).length === 2);
  await waitFor('the first', async () => (await at('127.0.0.2'))?.state === 'up');
  await waitFor('the other one', async () => ['unhealthy', 'checking'].includes((await at('127.0.0.99'))?.state ?? ''));
  for (let n = 0; n < 4; n++) t.is((await node.web('/checked')).body, '127.0.0.2');
  const { checks } = (await at('127.0.0.2'))!.health_checks;
  dns.a('checked.test', ['127.0.0.2', '127.0.0.3'], 1);
  await waitFor('another one', async () => (await at('127.0.0.3'))?.state === 'up');
  const kept = await at('127.0.0.2');
  t.is(kept?.state, 'up');
  t.true((kept?.health_checks.checks ?? 0) >= checks && checks > 0);
});

test('-t asks no name server', async (t) => {
  const { dns } = await shared();
  const conf = `events {} http { resolver 127.0.0.1:${dns.port}; upstream a { zone a 64k; server only-here.test resolve; } }`;
  const { code, stderr } = await check(t, conf);
  t.is(code, 0, stderr);
  t.is(dns.count('only-here.test'), 0);
});

test('a restart while no name server replies has the last addresses at once', async (t) => {
  const dns = await dnsServer(t);
  const { port } = await httpBackend(t, (_, response) => response.end('hello'));
  dns.a('kept.test', ['127.0.0.1'], 1);
  const conf = `events {} http {
    upstream kept { zone kept 64k; resolver 127.0.0.1:${dns.port} ipv6=off; server kept.test:${port} resolve; }
    server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://kept; } }
  }`;
  const first = await startSrv(t, conf);
  await waitFor('the first address', async () => (await get(first.port('web'), '/')).body === 'hello');
  await first.stop();
  dns.fail('*', 'silent');
  const second = await startSrv(t, conf, { prefix: first.prefix });
  t.is((await get(second.port('web'), '/')).body, 'hello');
});

test('1,000 changes of addresses under load, and no request fails', async (t) => {
  const site = await shared();
  const { node, dns } = site;
  const names = MANY.map((name) => ({ server: `${name}:${site.port}` }));
  t.is((await node.upstreams('PUT', '/load/servers', names)).status, 200);
  await waitFor('the names', async () => (await found(site, 'load')).length === MANY.length);
  const counts = { changes: 0 };
  /** The address of each name goes on by one with each query. */
  const at = new Map(MANY.map((name) => [name, 0]));
  dns.lie = (reply) => {
    const { name = '' } = dns.queries.at(-1) ?? {};
    const last = at.get(name);
    if (last !== undefined && counts.changes < 1000) {
      at.set(name, last + 1);
      dns.a(name, [ADDRESSES[(last + 1) % ADDRESSES.length]!], 1);
      counts.changes++;
    }
    return reply;
  };
  const statuses = new Map<string, number>();
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.teardown(() => agent.destroy());
  const port = node.srv.port('web');
  const client = async (): Promise<void> => {
    while (counts.changes < 1000) {
      const answer = await new Promise<string>((resolve) => {
        const request = httpGet({ host: '127.0.0.1', port, path: '/load', agent }, (response) => {
          response.resume().once('end', () => resolve(String(response.statusCode)));
        });
        request.once('error', (error) => resolve(error.message));
      });
      statuses.set(answer, (statuses.get(answer) ?? 0) + 1);
      await sleep(10);
    }
  };
  await Promise.all(Array.from({ length: 8 }, client));
  dns.lie = undefined;
  t.deepEqual([...statuses.keys()], ['200']);
  t.true((statuses.get('200') ?? 0) > 50, `${statuses.get('200')} requests`);
  const expected = MANY.map((name) => ADDRESSES[(at.get(name) ?? 0) % ADDRESSES.length] ?? '').toSorted();
  await waitFor('the last addresses', async () => (await found(site, 'load')).join() === expected.join());
  await node.upstreams('PUT', '/load/servers', []);
});
