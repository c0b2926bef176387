/** `server NAME members_from=SOURCE`: servers of a JSON file or URL, which come and go without a reload. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { exchange, get } from '../harness/client.js';
import { dnsServer } from '../harness/dns-server.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { writeInto } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from './node.js';

const LOAD = 'load_module modules/srv_http_members_from_module.so;';
const FAST = 'members_from_interval 100ms;';
const LIST = 'lists/edge.json';

interface Site {
  readonly node: Node;
  /** Addresses of servers that respond with their number, from 0 on. */
  readonly servers: readonly string[];
  /** The response to a request for the list with this path. */
  readonly lists: Map<string, { readonly status: number; readonly body: string }>;
}

const site = shared(async (scope): Promise<Site> => {
  const servers = await Promise.all([0, 1, 2].map((number) => numbered(scope, number)));
  const lists: Site['lists'] = new Map([['/edge.json?key=secret', { status: 200, body: JSON.stringify([servers[0]]) }]]);
  const inventory = await httpBackend(scope, (request, response) => {
    const { status, body } = lists.get(request.url ?? '') ?? { status: 404, body: '' };
    response.writeHead(status).end(body);
  });
  const node = await startNode(scope, {
    main: `${LOAD} load_module modules/srv_http_config_module.so;`,
    controlMain: 'load_module modules/srv_http_config_api_module.so;',
    files: { [LIST]: JSON.stringify([servers[0], { server: servers[1], weight: 3 }]) },
    stream: `
      upstream raw { zone raw 64k; ${FAST} server listed members_from=file:${LIST}; }
      server { listen 127.0.0.1:%%PORT_raw%%; proxy_pass raw; }`,
    http: `
      upstream demo { zone demo 64k; ${FAST} server edge members_from=file:${LIST} max_fails=7; }
      upstream url {
        zone url 64k; ${FAST} members_from_max_size 1k;
        server far members_from=http://127.0.0.1:${inventory.port}/edge.json?key=secret;
      }`,
    server: 'location / { proxy_pass http://demo; } location /url { proxy_pass http://url; }',
  });
  return { node, servers, lists };
});

async function numbered(scope: Scope, number: number): Promise<string> {
  const backend = await httpBackend(scope, (_, response) => response.end(`server ${number}`));
  return `127.0.0.1:${backend.port}`;
}

const portOf = (address: string): string => address.slice(address.indexOf(':'));

/** Waits until requests are served by these servers and no others. */
function served(node: Node, path: string, numbers: readonly number[]): Promise<unknown> {
  const wanted = numbers.map((number) => `server ${number}`).join(' ');
  return waitFor(`${wanted} at ${path}`, async () => {
    const bodies = await Promise.all(Array.from({ length: 12 }, async () => (await node.web(path)).body));
    return [...new Set(bodies)].sort().join(' ') === wanted;
  });
}

function write(node: Node, servers: unknown): void {
  writeInto(node.srv.prefix, LIST, JSON.stringify(servers));
}

async function drift(t: ExecutionContext, node: Node): Promise<void> {
  t.deepEqual((await node.call('GET', '/config/drift')).json, { diff: [] });
}

test.serial('the servers of a file come and go with their weights in both engines, and are no configuration', async (t) => {
  const { node, servers } = await site();
  await served(node, '/', [0, 1]);
  const members = await node.members();
  t.like(members, [
    { server: 'edge', max_fails: 7 },
    { server: servers[0], host: 'edge', parent: members[0]?.id, weight: 1, max_fails: 7 },
    { server: servers[1], host: 'edge', parent: members[0]?.id, weight: 3 },
  ]);
  t.false(JSON.stringify(members).includes('members_from'));
  write(node, { servers: [servers[2]] });
  await served(node, '/', [2]);
  const request = 'GET / HTTP/1.0\r\n\r\n';
  await waitFor('the server of the stream', async () => (await exchange(t, node.srv.port('raw'), request)).endsWith('server 2'));
  await drift(t, node);
});

test.serial('a list that is not valid changes nothing, and is logged once for its reason', async (t) => {
  const { node, servers, lists } = await site();
  const path = '/edge.json?key=secret';
  await served(node, '/url', [0]);
  const hostile: readonly (readonly [body: string, reason: RegExp])[] = [
    ['{"servers":', /it is not valid JSON/],
    ['['.repeat(900), /it is not valid JSON/],
    ['{"secret":"x"}', /it must be an array of servers/],
    ['[{"server":"10.0.0.1:80","wieght":2}]', /server 0 has an unknown key; known ones are "server", "backup", "weight", "max_conns"/],
    ['["example.com:80"]', /"example\.com:80" needs a "resolver" in the upstream/],
    ['["example.com"]', /must be IP:PORT or NAME:PORT, not 'example\.com'/],
    ['["unix:/run/a.sock"]', /must be IP:PORT or NAME:PORT, not 'unix/],
    ['["10.0.0.1:80\\nadmin"]', /must be IP:PORT or NAME:PORT, not '10\.0\.0\.1:80\\nadmin'/],
    ['["exa mple.com:80"]', /must be IP:PORT or NAME:PORT, not 'exa mple\.com:80'/],
    ['[{"server":"10.0.0.1:80","max_conns":-1}]', /"maxConns" of a server must be a whole number/],
    ['[{"server":"10.0.0.1:80","fail_timeout":10}]', /server 0 must have a time such as "10s" as its "fail_timeout"/],
    ['["10.0.0.1:80", {"server":"10.0.0.2:80","weight":0}]', /weight of a server must be/],
    ['[{"server":"10.0.0.1:80","backup":"yes"}]', /"backup" of a server must be/],
    ['[{"server":{"toString":1}}]', /must have a string "server"/],
    [JSON.stringify(['x'.repeat(2000)]), /it has more than 1024 bytes/],
  ];
  for (const [body, reason] of hostile) {
    lists.set(path, { status: 200, body });
    await node.srv.waitForLog(reason);
  }
  lists.set(path, { status: 500, body: JSON.stringify([servers[1]]) });
  await node.srv.waitForLog(/the status of the response is 500; the last ones stay in use/);
  await served(node, '/url', [0]);
  lists.set(path, { status: 200, body: JSON.stringify([{ server: servers[1] }]) });
  await served(node, '/url', [1]);
  const log = node.srv.log();
  t.is(log.match(/the status of the response is 500/g)?.length, 1);
  t.regex(log, /are read from "http:\/\/127\.0\.0\.1:\d+\/edge\.json" again/);
  t.false(log.includes('secret'));
});

test.serial('a worker that is started later, and a reload, have the servers that were found', async (t) => {
  const { node, servers } = await site();
  write(node, servers);
  await served(node, '/', [0, 1, 2]);
  const before = await node.list();
  rmSync(join(node.srv.prefix, LIST));
  await node.srv.waitForLog(/cannot be read from ".*edge\.json": ENOENT.*the last ones stay in use/);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  await served(node, '/', [0, 1, 2]);
  t.deepEqual(await node.list(), before);
});

test('names of a list are resolved, again and again; parameters are those of the list, then those of the line', async (t) => {
  const dns = await dnsServer(t);
  const [first, second] = [await numbered(t, 1), await numbered(t, 2)];
  dns.a('one.test', ['127.0.0.1'], 1);
  dns.fail('late.test', 'silent');
  const resolver = `resolver 127.0.0.1:${dns.port} ipv6=off; resolver_timeout 1s;`;
  const node = await startNode(t, {
    main: LOAD,
    files: { [LIST]: JSON.stringify([{ server: `one.test${portOf(first)}`, weight: 2, max_conns: 50, fail_timeout: '1m30s' }]) },
    stream: `${resolver}
      upstream raw { zone raw 64k; ${FAST} server listed members_from=file:${LIST}; }
      server { listen 127.0.0.1:%%PORT_raw%%; proxy_pass raw; }`,
    http: `${resolver}
      upstream demo { zone demo 64k; ${FAST} server edge members_from=file:${LIST} max_fails=7 max_conns=90; }`,
    server: 'location / { proxy_pass http://demo; }',
  });
  const found = async () => (await node.members()).filter(({ parent }) => parent !== undefined);
  await served(node, '/', [1]);
  const [kept] = await found();
  t.like(kept, { server: first, weight: 2, max_conns: 50, max_fails: 7, fail_timeout: '90s' });
  const request = 'GET / HTTP/1.0\r\n\r\n';
  await waitFor('the server of the stream', async () => (await exchange(t, node.srv.port('raw'), request)).endsWith('server 1'));

  // Its addresses change, the list does not.
  dns.a('one.test', ['127.0.0.1', '127.0.0.2'], 1);
  await waitFor('another address', async () => (await found()).length === 2);
  t.is((await found())[0]?.id, kept?.id, 'a member whose address stays is the same');
  dns.a('one.test', ['127.0.0.1'], 1);
  await waitFor('the address to go', async () => (await found()).length === 1);

  write(node, [`late.test${portOf(first)}`, { server: second, max_conns: 30 }]);
  await waitFor('the second server', async () => (await found()).some((member) => member.max_conns === 30));
  t.is((await found())[0]?.id, kept?.id, 'while a name was never looked up, its address may be any one of before');
  dns.heal('late.test');
  dns.a('late.test', [], 1);
  await waitFor('the name without addresses', async () => (await found()).length === 1);
  // One after the other: it has no more than three connections.
  await waitFor('the second server alone', async () => {
    for (let n = 0; n < 8; n++) if ((await node.web()).body !== 'server 2') return false;
    return true;
  });
  t.like(await found(), [{ server: second, max_conns: 30, fail_timeout: '10s' }]);
  write(node, [{ server: second, max_conns: 40 }]);
  await waitFor('other parameters', async () => (await found())[0]?.max_conns === 40);
});

test('a start without the list has the servers of the last one', async (t) => {
  const address = await numbered(t, 7);
  const conf = `${LOAD} worker_processes 1; events {}
    http {
      upstream edge { zone edge 64k; ${FAST} server edge members_from=file:${LIST}; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://edge; } }
    }`;
  const first = await startSrv(t, conf, { files: { [LIST]: JSON.stringify([address]) } });
  await waitFor('the server', async () => (await get(first.port('web'), '/')).body === 'server 7');
  await first.stop('SIGQUIT');
  rmSync(join(first.prefix, LIST));
  const second = await startSrv(t, conf, { prefix: first.prefix });
  t.is((await get(second.port('web'), '/')).body, 'server 7');
});

const rejected: readonly (readonly [what: string, load: string, lines: string, message: RegExp])[] = [
  [
    'without the module',
    '',
    'zone a 64k; server a members_from=file:/x;',
    /unknown source "file:\/x" in "members_from".*[^]*load_module modules\/srv_http_members_from_module/,
  ],
  ['an unknown source', LOAD, 'zone a 64k; server a members_from=consul:x;', /unknown source "consul:x"/],
  ['without a zone', LOAD, 'server a members_from=file:/x;', /requires upstream "a" to be in shared memory[^]*zone a 64k/],
  ['an address', LOAD, 'zone a 64k; server 10.0.0.1 members_from=file:/x;', /"members_from" requires a name/],
  ['with resolve', LOAD, 'zone a 64k; server a resolve members_from=file:/x;', /"members_from" and "resolve" are mutually exclusive/],
  ['a URL with a password', LOAD, 'zone a 64k; server a members_from=http://me:pw@a/x;', /must not have a user or password/],
  ['no URL', LOAD, 'zone a 64k; server a members_from=https://;', /invalid URL "https:\/\/"/],
  ['no path', LOAD, 'zone a 64k; server a members_from=file:;', /no path in "members_from=file:"/],
  ['no interval', LOAD, 'zone a 64k; members_from_interval 0; server a members_from=file:/x;', /invalid value/],
];

for (const [what, load, lines, message] of rejected) {
  test(`rejected: members_from, ${what}`, async (t) => {
    const { code, stderr } = await check(t, `${load} events {} http { upstream a { ${lines} } }`);
    t.is(code, 1);
    t.regex(stderr, message);
  });
}

for (const load of [`include conf/api.conf; ${LOAD}`, `${LOAD} include conf/api.conf;`])
  test(`a source is found in whatever order modules are loaded: ${load}`, async (t) => {
    const lines = 'zone a 64k; server a members_from=file:lists/a.json;';
    const { code, stderr } = await check(t, `${load} events {} http { upstream a { ${lines} } }`, { 'lists/a.json': '[]' });
    t.is(code, 0, stderr);
  });

for (const source of ['consul:x', 'file:'])
  test(`errors of a source are reported at its line: ${source}`, async (t) => {
    const lines = ['zone a 64k;', 'server 127.0.0.1:1;', 'server b members_from=file:/x;', `server c members_from=${source};`];
    const { stderr } = await check(t, `${LOAD} events {} http { upstream a {\n${lines.join('\n')}\n} }`);
    t.regex(stderr, /srv\.conf:5:\d+\n/);
  });

test('a source that no module has is reported, also beside the member API', async (t) => {
  const { code, stderr } = await check(
    t,
    'include conf/api.conf; events {} http { upstream a { zone a 64k; server a members_from=other:x; } }',
  );
  t.is(code, 1);
  t.regex(stderr, /unknown source "other:x" in "members_from"/);
});
