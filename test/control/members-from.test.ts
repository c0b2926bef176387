/** `server NAME members_from=SOURCE`: servers of a JSON file or URL, which come and go without a reload. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { httpBackend } from '../harness/backends.js';
import { check } from '../harness/check.js';
import { exchange, get } from '../harness/client.js';
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
    ['[{"server":"10.0.0.1:80","wieght":2}]', /may have "server", "weight" and "backup" only/],
    ['["example.com:80"]', /must be IP:PORT, not 'example\.com:80'/],
    ['["unix:/run/a.sock"]', /must be IP:PORT, not 'unix/],
    ['["10.0.0.1:80\\nadmin"]', /must be IP:PORT, not '10\.0\.0\.1:80\\nadmin'/],
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
