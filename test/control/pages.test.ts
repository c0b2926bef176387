/** Lists in pages, while what they list changes between one page and the next. */
import test from 'ava';
import { get, type HttpResponse } from '../harness/client.js';
import { sharedNode, upstreams, type Node } from './node.js';

const NAMES = ['c', 'a', 'd', 'b', 'e', 'f'];
const SERVERS = NAMES.map((name) => `server { listen 127.0.0.1:%%PORT_sites%%; server_name ${name}; location /${name} { return 200 x; } }`);
const shared = sharedNode({
  workers: 1,
  http: `${upstreams(...NAMES)} ${SERVERS.join(' ')}`,
  server: 'return 204;',
  main: ['location', 'dyn_upstream', 'dyn_server'].map((name) => `load_module modules/srv_http_${name}_module.so;`).join(' '),
  controlMain: ['location', 'dyn_upstream', 'dyn_server'].map((name) => `load_module modules/srv_http_${name}_api_module.so;`).join(' '),
});

type Change = readonly [method: string, path: string, body?: object];

/** A list, what its entries are called, and the changes that are made after each page. */
interface List {
  readonly path: string;
  readonly nameOf: (entry: Readonly<Record<string, unknown>>) => string;
  readonly changes: (site: string) => readonly Change[];
  /** What is there from the first page to the last one, in the order of the pages. */
  readonly kept: readonly string[];
}

const LISTS: readonly List[] = [
  {
    path: '/dyn_loc?limit=2',
    nameOf: (entry) => String(entry['location_name']),
    kept: ['/c', '/a', '/b', '/e', '/f'],
    changes: (site) => [
      [
        'PATCH',
        '/dyn_loc?force=1',
        { addr_port: site, server_name: 'c', location_rule: '', location_name: '/c', location_body: 'return 201 y' },
      ],
      ['PUT', '/dyn_loc?force=1', { type: 'del', addr_port: site, server_name: 'd', location_rule: '', location_name: '/d' }],
      ['POST', '/dyn_loc', { addr_port: site, server_name: 'c', locations: [{ location_rule: '', location_name: '/new' }] }],
    ],
  },
  {
    path: '/dyn_srv?limit=2',
    nameOf: (entry) => String(entry['server_name']),
    kept: ['c', 'a', 'b', 'e', 'f'],
    changes: (site) => [
      ['PATCH', '/dyn_srv?force=1', { addr_port: site, server_name: 'a', server_body: 'return 201 y' }],
      ['PUT', '/dyn_srv?force=1', { type: 'del', addr_port: site, server_name: 'd' }],
      ['POST', '/dyn_srv', { addr_port: site, server_name: 'new', server_body: 'return 200 z' }],
    ],
  },
  {
    path: '/dyn_ups?limit=2',
    nameOf: (entry) => String(entry['upstream_name']),
    kept: ['a', 'b', 'c', 'e', 'f'],
    changes: () => [
      ['PATCH', '/dyn_ups/a?force=1', { upstream_body: 'zone a 256k; least_conn' }],
      ['PUT', '/dyn_ups?force=1', { type: 'del', upstream_name: 'd' }],
      ['POST', '/dyn_ups', { upstream_name: 'aa', upstream_body: 'zone aa 64k; server 127.0.0.1:1' }],
    ],
  },
  {
    path: '/upstream_api/http/upstreams/e/servers?limit=2',
    nameOf: (entry) => String(entry['server']),
    kept: ['127.0.0.1:1', '127.0.0.1:2', '10.0.0.3:80', '10.0.0.5:80'],
    changes: () => [
      ['PATCH', '/upstream_api/http/upstreams/e/servers/0', { weight: 5 }],
      ['DELETE', '/upstream_api/http/upstreams/e/servers/10.0.0.4:80'],
      ['POST', '/upstream_api/http/upstreams/e/servers', { server: '10.0.0.6' }],
    ],
  },
];

async function allPages(node: Node, path: string, between: () => Promise<void>): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const entries: Readonly<Record<string, unknown>>[] = [];
  let next: string | undefined = `/api/v1${path}`;
  while (next !== undefined) {
    const page: HttpResponse = await get(node.srv.port('api'), next);
    entries.push(...(JSON.parse(page.body) as Readonly<Record<string, unknown>>[]));
    next = /^<(.*)>; rel="next"$/.exec(String(page.headers['link'] ?? ''))?.[1];
    await between();
  }
  return entries;
}

for (const { path, nameOf, changes, kept } of LISTS) {
  test.serial(`pages have each entry once, and in one order, whatever changes meanwhile: ${path}`, async (t) => {
    const node = await shared();
    if (path.includes('/e/')) for (const last of [3, 4, 5]) await node.upstreams('POST', '/e/servers', { server: `10.0.0.${last}` });
    const left = [...changes(`127.0.0.1:${node.srv.port('sites')}`)];
    const entries = await allPages(node, path, async () => {
      const [method, call, body] = left.shift() ?? [];
      if (method === undefined || call === undefined) return;
      const { status, body: text } = await node.call(method, call, body);
      t.true(status < 300, text);
    });
    t.is(left.length, 0);
    t.deepEqual(
      entries.map(nameOf).filter((name) => kept.includes(name)),
      kept,
    );
  });
}
