/** The mechanism of `/v1/config/<key>`, by the keys for access rules and header fields. */
import test from 'ava';
import { get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { errorOf } from './api-client.js';
import { sharedNode, startNode, type Node, type NodeOptions } from './node.js';

const LOADED = ['bwlist', 'header'].map((name) => `load_module modules/srv_http_dyn_${name}_module.so;`).join('\n');
const MODULES: NodeOptions = {
  main: `load_module modules/srv_http_config_module.so; load_module modules/srv_http_location_module.so; ${LOADED}`,
  controlMain: `load_module modules/srv_http_config_api_module.so; load_module modules/srv_http_history_api_module.so;
    load_module modules/srv_http_location_api_module.so; load_module modules/srv_http_transactions_api_module.so; ${LOADED}`,
};
const SERVER = (name: string): string => `server {
  listen 127.0.0.1:%%PORT_web%%; listen 127.0.0.1:%%PORT_second%%;
  server_name ${name}.example www.${name}.example;
  location / { alias /dev/; add_header X-File 1; add_more_header X-More 1; try_files /none =204; location = /inner { return 204; } }
  location ~ ^/pattern { try_files /none =204; }
}`;
const OTHERS = `
  server { listen 127.0.0.1:%%PORT_others%%; server_name "~^(a|b)\\d{1,2};" *.wild.example; location / { return 204; } }
  server { listen 127.0.0.1:%%PORT_others%%; location / { return 204; } }`;
const NAMES = [
  'rules',
  'families',
  'header',
  'nested',
  'all',
  'errors',
  'version',
  'dry',
  'drift',
  'order',
  'page',
  'roll',
  'inject',
  'added',
];
const shared = sharedNode({ ...MODULES, http: `${NAMES.map(SERVER).join('\n')}\n${OTHERS}`, server: 'return 204;' });

/** Calls of one key for one server, and requests to it. */
class Site {
  constructor(
    readonly node: Node,
    readonly key: string,
    readonly name: string,
  ) {}

  get server() {
    return { listens: [`127.0.0.1:${this.node.srv.port('web')}`], serverNames: [`${this.name}.example`] };
  }

  put(locations: readonly object[], fields: object = {}, query = '', headers: Readonly<Record<string, string>> = {}) {
    return this.node.call('PUT', `/config/${this.key}${query}`, { servers: [{ ...this.server, ...fields, locations }] }, headers);
  }

  /** What the setting shows of this server. */
  async shown(): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { servers } = (await this.node.call('GET', `/config/${this.key}`)).json as { servers: Record<string, unknown>[] };
    return servers.find(({ serverNames }) => (serverNames as string[]).includes(`${this.name}.example`));
  }

  async locations(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    return ((await this.shown())?.['locations'] ?? []) as never;
  }

  request(path = '/', port = 'web') {
    return get(this.node.srv.port(port), path, { headers: { host: `${this.name}.example` } });
  }
}

const site = async (key: string, name: string): Promise<Site> => new Site(await shared(), key, name);

test('the keys are listed', async (t) => {
  t.deepEqual((await (await shared()).call('GET', '/config')).json, ['http_dyn_bwlist', 'http_dyn_header']);
});

test('access rules take effect in every worker, are shown, and go again', async (t) => {
  const rules = await site('http_dyn_bwlist', 'rules');
  const denied = await rules.put([{ location: '/', access: ['deny 127.0.0.0/8', 'allow all'] }]);
  t.is(denied.status, 200, denied.body);
  t.deepEqual(denied.json, { code: 0, msg: 'success.' });
  for (let n = 0; n < 8; n++) t.is((await rules.request()).status, 403);
  const { listens, serverNames, locations } = (await rules.shown()) ?? {};
  t.deepEqual(
    listens,
    ['web', 'second'].map((name) => `127.0.0.1:${rules.node.srv.port(name)}`),
  );
  t.deepEqual(serverNames, ['rules.example', 'www.rules.example']);
  t.deepEqual(locations, [
    {
      location: '/',
      accessIpv4: [
        { rule: 'deny', addr: '127.0.0.0', mask: '255.0.0.0' },
        { rule: 'allow', addr: '0.0.0.0', mask: '0.0.0.0' },
      ],
      accessIpv6: [{ rule: 'allow', addr: '::', mask: '::' }],
      access: ['deny 127.0.0.0/8', 'allow all'],
    },
  ]);
  t.is((await rules.put([{ location: '/', access: [] }])).status, 200);
  for (let n = 0; n < 8; n++) t.is((await rules.request()).status, 204);
  t.is(await rules.shown(), undefined, 'a server that says nothing is left out');
});

test('the list of one family is changed, and the rules for others stay', async (t) => {
  const families = await site('http_dyn_bwlist', 'families');
  await families.put([{ location: '/', access: ['allow 2001:db8::/32', 'allow unix:', 'deny all'] }]);
  t.is((await families.request()).status, 403);
  const put = await families.put([{ location: '/', accessIpv4: [{ rule: 'allow', addr: '127.0.0.1', mask: '255.255.255.255' }] }]);
  t.is(put.status, 200, put.body);
  t.is((await families.request()).status, 204);
  const [shown] = await families.locations();
  t.like(shown, { accessIpv4: [{ rule: 'allow', addr: '127.0.0.1' }] });
  t.like(shown, {
    accessIpv6: [
      { addr: '2001:db8::', mask: 'ffff:ffff::' },
      { rule: 'deny', addr: '::' },
    ],
  });
  t.deepEqual(shown?.['access'], ['allow 127.0.0.1', 'allow 2001:db8::/32', 'deny ::/0', 'allow unix:', 'deny unix:']);
  t.is((await families.put([shown as object])).status, 200, 'what GET showed can be sent back');
  const bits = await families.put([{ location: '/', accessIpv4: [8, '8'].map((mask) => ({ rule: 'allow', addr: '127.0.0.0', mask })) }]);
  t.is(bits.status, 200, bits.body);
  t.like((await families.locations())[0], { accessIpv4: [{ mask: '255.0.0.0' }, { mask: '255.0.0.0' }] });
  t.is((await families.put([{ location: '/', accessIpv4: [{ rule: 'allow', addr: '127.0.0.0', mask: 33 }] }])).status, 400);
  t.like(errorOf(await families.put([{ location: '/', access: ['deny all'], accessIpv4: [] }])), {
    code: 'InvalidField',
    details: [{ pointer: '/servers/0/locations/0/accessIpv4', message: 'contradicts "access": send one of them' }],
  });
});

test('header fields replace those of add_header, and leave those of add_more_header', async (t) => {
  const header = await site('http_dyn_header', 'header');
  t.deepEqual(await header.locations(), [{ location: '/', headers: [{ key: 'X-File', value: '1', always: false }] }]);
  const put = await header.put([
    { location: '/', headers: [{ key: 'X-Api', value: 'host $host "; } # é', always: true }] },
    { location: '~ ^/pattern', headers: [{ key: 'X-Pattern', value: 'yes' }] },
  ]);
  t.is(put.status, 200, put.body);
  const { headers } = await header.request();
  t.is(headers['x-api'], Buffer.from('host header.example "; } # é').toString('latin1'));
  t.is(headers['x-file'], undefined);
  t.is(headers['x-more'], '1');
  t.is((await header.request('/pattern')).headers['x-pattern'], 'yes');
});

test('fields of a server, and of locations in locations', async (t) => {
  const nested = await site('http_dyn_header', 'nested');
  const inner = { location: '= /inner', headers: [{ key: 'X-Inner', value: '2' }] };
  const put = await nested.put([{ location: '/', headers: [], locations: [inner] }], { headers: [{ key: 'X-Server', value: '3' }] });
  t.is(put.status, 200, put.body);
  t.is((await nested.request('/')).headers['x-server'], '3', 'without a list of its own, that of the server');
  t.like((await nested.request('/inner')).headers, { 'x-inner': '2', 'x-server': undefined });
  const { headers, locations } = (await nested.shown()) ?? {};
  t.deepEqual(headers, [{ key: 'X-Server', value: '3', always: false }]);
  t.like((locations as unknown[])[0], { location: '/', locations: [{ location: '= /inner' }] });
  t.is((await nested.put([], { headers: null })).status, 200);
  t.is((await nested.request('/')).headers['x-server'], undefined);
});

test('every address, name and location of a call counts', async (t) => {
  const all = await site('http_dyn_header', 'all');
  const { node } = all;
  const listens = ['web', 'second'].map((name) => `127.0.0.1:${node.srv.port(name)}`);
  const headers = [{ key: 'X-All', value: 'yes' }];
  const locations = [
    { location: '/', headers },
    { location: '~ ^/pattern', headers },
  ];
  const put = await node.call('PUT', '/config/http_dyn_header', {
    servers: [{ listens, serverNames: ['all.example', 'www.all.example', 'www.page.example'], locations }],
  });
  t.is(put.status, 200, put.body);
  const page = await site('http_dyn_header', 'page');
  for (const server of [all, page])
    for (const port of ['web', 'second'])
      for (const path of ['/', '/pattern'])
        t.is((await server.request(path, port)).headers['x-all'], 'yes', `${server.name} ${port} ${path}`);
});

test('all errors of a call are reported at once, and nothing is changed', async (t) => {
  const errors = await site('http_dyn_bwlist', 'errors');
  const { server, node } = errors;
  const [address = ''] = server.listens;
  const locations = [{ location: '/', access: ['deny all'] }];
  const refused = await node.call('PUT', '/config/http_dyn_bwlist', {
    servers: [
      { ...server, locations },
      { listens: [address], serverNames: ['errors.example', 'none.example'], locations: [] },
      { listens: ['127.0.0.1:1', 'nonsense:port'], locations: [] },
      { listens: [address], serverNames: ['www.errors.example'], locations: [{ location: '/', accessIpv4: [] }] },
      {
        listens: [address],
        serverNames: ['page.example'],
        locations: [
          { location: '/none', access: [] },
          { location: '/', access: ['permit all', 'deny 10.0.0.0/33'], locations: [{ location: '/inner', access: [] }] },
          {
            location: '~ ^/pattern',
            accessIpv4: [{ rule: 'deny', addr: '::1', mask: '255.0.0.0' }],
            accessIpv6: [{ rule: 'deny', addr: '::1', mask: 'ffff::1' }],
          },
        ],
      },
    ],
  });
  t.is(`${refused.status} ${errorOf(refused).code}`, '404 ServerNotFound', refused.body);
  const details = errorOf(refused).details as unknown as { pointer: string; code: string }[];
  t.deepEqual(
    details.map(({ pointer, code }) => `${pointer} ${code}`),
    [
      '/servers/1/serverNames/1 ServerNotFound',
      '/servers/1 InvalidField',
      '/servers/2/listens/0 ServerNotFound',
      '/servers/2/listens/1 InvalidField',
      '/servers/3 InvalidField',
      '/servers/3/locations/0 InvalidField',
      '/servers/4/locations/0/location LocationNotFound',
      '/servers/4/locations/1/locations/0/location LocationNotFound',
      '/servers/4/locations/1/access/0 InvalidField',
      '/servers/4/locations/1/access/1 InvalidField',
      '/servers/4/locations/2/accessIpv4/0/addr InvalidField',
      '/servers/4/locations/2/accessIpv6/0/mask InvalidField',
    ],
  );
  t.is((await errors.request()).status, 204);
  t.is(await errors.shown(), undefined);
});

test('the schema rejects what is no field, with a pointer for each', async (t) => {
  const errors = await site('http_dyn_bwlist', 'errors');
  const refused = await errors.put([{ location: '/', acces: [], accessIpv4: [{ rule: 'drop', addr: 1 }] }, { access: 3 }]);
  t.is(`${refused.status} ${errorOf(refused).code}`, '400 InvalidField', refused.body);
  const at = '/servers/0/locations';
  for (const pointer of [`${at}/0/acces`, `${at}/0/accessIpv4/0/rule`, `${at}/0/accessIpv4/0/addr`, `${at}/1/location`, `${at}/1/access`])
    t.true(
      errorOf(refused).details.some((detail) => (detail as { pointer?: string }).pointer === pointer),
      `${pointer} in ${refused.body}`,
    );
});

/** Values that try to leave their word, and where they are rejected; without a place they are taken as they are. */
const INJECTIONS: readonly (readonly [key: string, value: string, place?: string])[] = [
  ['X-A', '1; deny all'],
  ['X-A', '1" always; } location /evil { return 200 "'],
  ['X-A', "'; include /etc/passwd; '"],
  ['X-A', String.raw`\"; deny all; \"`],
  ['X-A', '# a comment'],
  ['X-A', '{ }'],
  ['X-A', ''],
  ['X-A', '${host}'],
  ['X-A', 'always'],
  ['X-A', '1\r\nX-Evil: 1', 'value'],
  ['X-A', '1\nSet-Cookie: a', 'value'],
  ['X-A', '\0', 'value'],
  ['X-$host', '1', 'key'],
  ['X-A: 1\r\nX-B', '1', 'key'],
  ['X A', '1', 'key'],
  ['X-A;', '1', 'key'],
  ['{', '1', 'key'],
];
for (const [key, value, place] of INJECTIONS) {
  test.serial(`a value stays one word: ${JSON.stringify(`${key}: ${value}`)}`, async (t) => {
    const inject = await site('http_dyn_header', 'inject');
    const put = await inject.put([{ location: '/', headers: [{ key, value }] }]);
    if (place !== undefined) {
      t.is(`${put.status} ${errorOf(put).code}`, '400 InvalidField', put.body);
      t.like(errorOf(put).details[0], { pointer: `/servers/0/locations/0/headers/0/${place}` });
      return;
    }
    t.is(put.status, 200, put.body);
    const sent = (await inject.request()).headers;
    t.is(sent['x-a'], value === '' ? undefined : value.replace('${host}', 'inject.example'));
    t.is(sent['x-more'], '1', 'the block is whole');
    const [shown] = await inject.locations();
    t.deepEqual(shown?.['headers'], [{ key, value, always: false }]);
  });
}

test('what the configuration rejects names the field', async (t) => {
  const inject = await site('http_dyn_header', 'inject');
  const refused = await inject.put([{ location: '~ ^/pattern', headers: [{ key: 'X-A', value: '$no_such_variable' }] }]);
  t.is(`${refused.status} ${errorOf(refused).code}`, '400 ConfigError', refused.body);
  t.like(errorOf(refused).details[0], { pointer: '/servers/0/locations/0/headers/0' });
  t.regex(errorOf(refused).details[0]?.message ?? '', /unknown "no_such_variable" variable/);
});

test('a version that is out of date is rejected, and a repeated call changes nothing', async (t) => {
  const version = await site('http_dyn_bwlist', 'version');
  const before = (await version.node.call('GET', '/config/http_dyn_bwlist')).headers['etag'] as string;
  const locations = [{ location: '/', access: ['deny 10.0.0.1'] }];
  t.is(errorOf(await version.put(locations, {}, '', { 'if-match': '"0"' })).code, 'VersionMismatch');
  t.truthy(before);
  const changed = await version.put(locations);
  t.not(changed.headers['etag'], before);
  t.is((await version.node.call('PUT', '/config/http_dyn_bwlist', {}, { 'if-match': '*' })).status, 200);
});

test('a dry run says what would change', async (t) => {
  const dry = await site('http_dyn_header', 'dry');
  const tried = await dry.put([{ location: '/', headers: [{ key: 'X-Dry', value: 'a b' }] }], {}, '?dry_run=1');
  t.is(tried.status, 200, tried.body);
  const { diff } = tried.json as { diff: string[] };
  t.deepEqual(
    diff.filter((line) => /^[-+]/.test(line)),
    ['- add_header X-File 1;', '+ add_header X-Dry "a b";'],
  );
  t.is((await dry.request()).headers['x-dry'], undefined);
});

test('pages have the servers in one order, and name the next one', async (t) => {
  const { node } = await site('http_dyn_header', 'page');
  const names = new Set<string>();
  let path = '/config/http_dyn_header?limit=4';
  for (let pages = 1; ; pages++) {
    const page = await node.call('GET', path);
    const { servers } = page.json as { servers: { serverNames: string[] }[] };
    t.true(servers.length <= 4);
    for (const { serverNames } of servers) names.add(serverNames[0] ?? '');
    const next = /<[^>]*\/v1(?<path>[^>]*)>/.exec(String(page.headers['link']))?.groups?.['path'];
    if (next === undefined) break;
    path = next;
    t.true(pages < 10);
  }
  for (const name of NAMES) t.true(names.has(`${name}.example`), name);
});

/** The access rules of the one location that has some. */
async function rulesShown(at: Node): Promise<unknown> {
  const { servers } = (await at.call('GET', '/config/http_dyn_bwlist')).json as { servers: { locations: { access: string[] }[] }[] };
  return servers[0]?.locations[0]?.access;
}

test('servers with patterns, masks and no name are named as they are shown', async (t) => {
  const node = await shared();
  const listens = [`127.0.0.1:${node.srv.port('others')}`];
  const own = (serverNames?: readonly string[]) => ({
    listens,
    ...(serverNames && { serverNames }),
    headers: [{ key: 'X-Of', value: String(serverNames) }],
  });
  const patterns = ['~^(a|b)\\d{1,2};', '*.wild.example'];
  const put = (...servers: readonly object[]) => node.call('PUT', '/config/http_dyn_header', { servers });
  const both = await put(own(patterns), own(['']));
  t.is(both.status, 200, both.body);
  const { servers } = (await node.call('GET', '/config/http_dyn_header')).json as {
    servers: { listens: string[]; serverNames: string[] }[];
  };
  const names = servers.filter((server) => server.listens[0] === listens[0]).map(({ serverNames }) => serverNames);
  t.deepEqual(names, [patterns, ['']]);
  t.is((await put(own())).status, 200, 'without names: the default server');
  const { headers } = await get(node.srv.port('others'), '/', { headers: { host: 'b12;' } });
  t.is(headers['x-of'], 'undefined');
});

test('a setting in a location of the API goes with it, and is one change with it in a transaction', async (t) => {
  const added = await site('http_dyn_header', 'added');
  const { node, server } = added;
  const [addr_port] = server.listens;
  const place = { addr_port, server_name: 'added.example' };
  const headers = [{ key: 'X-New', value: '$uri' }];
  const calls = [
    {
      method: 'POST',
      path: '/v1/dyn_loc',
      body: { ...place, locations: [{ location_rule: '^~', location_name: '/new', location_body: 'return 204' }] },
    },
    {
      method: 'PUT',
      path: '/v1/config/http_dyn_header',
      body: { servers: [{ ...server, locations: [{ location: '^~ /new', headers }] }] },
    },
    {
      method: 'PUT',
      path: '/v1/config/http_dyn_bwlist',
      body: { servers: [{ ...server, locations: [{ location: '/', access: ['deny all'] }] }] },
    },
  ];
  const refused = await node.call('POST', '/transactions', {
    calls: calls.map((call) => ({ ...call, body: JSON.parse(JSON.stringify(call.body).replace('deny all', 'deny')) as unknown })),
  });
  t.is(refused.status, 400, refused.body);
  t.is((await added.request('/new')).headers['x-new'], undefined);
  const together = await node.call('POST', '/transactions', { calls });
  t.is(together.status, 200, together.body);
  t.is((await added.request('/new')).headers['x-new'], '/new');
  t.is((await added.request('/')).status, 403);
  const shown = (await added.locations()).find(({ location }) => location === '^~ /new');
  t.deepEqual(shown?.['headers'], [{ ...headers[0], always: false }]);
  const gone = await node.call('PUT', '/dyn_loc', { type: 'del', ...place, location_rule: '^~', location_name: '/new' });
  t.is(gone.status, 200, gone.body);
  t.is(errorOf(await added.put([{ location: '^~ /new', headers: [] }])).code, 'LocationNotFound');
});

const RULES = ['allow 10.0.0.1', 'allow 10.0.0.2', 'deny 10.0.0.3', 'allow 10.0.0.2', 'deny all'];

/** Rules of one version, other ones in another order for each. */
const pick = (n: number): readonly string[] => RULES.map((_, i) => RULES[(i * (n + 1) + n) % RULES.length] ?? '').slice(n % 3);

test.serial('a rollback over several versions has the order of lines that are equal, and a reload keeps it', async (t) => {
  const roll = await site('http_dyn_bwlist', 'roll');
  const { node } = roll;
  const rules = async (): Promise<unknown> => (await roll.locations()).find(({ location }) => location === '/')?.['access'];
  const states = new Map<number, readonly string[]>();
  for (let n = 1; n < 9; n++) {
    t.is((await roll.put([{ location: '/', access: pick(n) }])).status, 200);
    const [newest] = (await node.call('GET', '/history?limit=1')).json as { version: number }[];
    states.set(newest?.version ?? 0, pick(n));
  }
  const versions = [...states.keys()];
  for (const at of [5, 1, 7, 0, 3]) {
    t.is((await node.call('POST', `/history/${versions[at]}/rollback`, {})).status, 200);
    t.deepEqual(await rules(), states.get(versions[at] ?? 0));
  }
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured/);
  t.deepEqual(await rules(), states.get(versions[3] ?? 0));
});

const ETAG = /^"[0-9a-f]+"$/;

test.serial('changes survive kill -9 in their order, are drift, and are taken back by a rollback', async (t) => {
  const port = await freePort(t);
  const options = {
    ...MODULES,
    server: 'return 204;',
    http: `server { listen 127.0.0.1:${port}; server_name a; location / { allow 10.0.0.1; allow 10.0.0.2; deny 10.0.0.3; deny all; alias /dev/; try_files /none =204; } }`,
  };
  const node = await startNode(t, { ...options, allowCrashes: true });
  const server = { listens: [`127.0.0.1:${port}`], serverNames: ['a'] };
  const put = async (at: Node, access: readonly string[]): Promise<string> => {
    const { status, headers, body } = await at.call('PUT', '/config/http_dyn_bwlist', {
      servers: [{ ...server, locations: [{ location: '/', access }] }],
    });
    t.is(status, 200, body);
    return String(headers['etag']);
  };
  const FILE = ['allow 10.0.0.1', 'allow 10.0.0.2', 'deny 10.0.0.3', 'deny all'];
  t.deepEqual(await rulesShown(node), FILE);
  t.is((await get(port, '/')).status, 403);
  await put(node, ['deny all', 'allow 10.0.0.2', 'allow 10.0.0.1']);
  const wanted = ['allow 10.0.0.2', 'deny 10.0.0.9', 'allow 127.0.0.0/8', 'allow 10.0.0.1', 'deny all', 'allow 10.0.0.2'];
  const version = await put(node, wanted);
  t.regex(version, ETAG);
  t.is((await get(port, '/')).status, 204);

  process.kill(node.srv.pid, 'SIGKILL');
  await node.srv.exited;
  const again = await startNode(t, { ...options, prefix: node.srv.prefix });
  t.deepEqual(await rulesShown(again), wanted);
  t.is((await get(port, '/')).status, 204);
  const { diff } = (await again.call('GET', '/config/drift')).json as { diff: string[] };
  t.true(diff.includes('+ allow 127.0.0.0/8;'), diff.join('\n'));
  t.true(diff.some((line) => line.includes('location /')));
  t.is(await put(again, FILE), String((await again.call('GET', '/config/http_dyn_bwlist')).headers['etag']));
  t.deepEqual(await rulesShown(again), FILE);
  t.deepEqual((await again.call('GET', '/config/drift')).json, { diff: [] });
  const [newest] = (await again.call('GET', '/history?limit=1')).json as { version: number }[];
  t.is((await again.call('POST', `/history/${(newest?.version ?? 0) - 1}/rollback`, {})).status, 200);
  t.deepEqual(await rulesShown(again), wanted);
});
