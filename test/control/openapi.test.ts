import test from 'ava';
import { get } from '../harness/client.js';
import { sharedNode, startNode } from './node.js';
import { OpenApiDocument } from './openapi-document.js';

const shared = sharedNode({ allowCrashes: true });
const GROUPS = '/upstream_api/http/upstreams';
const DEMO = `${GROUPS}/demo`;
const SERVERS = `${DEMO}/servers`;
/** An upstream of stream, which has the same calls. */
const STREAM = 'stream { upstream demo { zone sdemo 256k; server 127.0.0.1:1; } }';
const ofStream = (path: string): string => path.replace('/http/', '/stream/');
const NEVER = { 'if-match': '"0"' };

test('the document names every path of the loaded modules', async (t) => {
  const node = await shared();
  const document = await OpenApiDocument.of(t, node.srv.port('api'));
  const members = ['http', 'stream'].flatMap((engine) => {
    const upstreams = `/v1/upstream_api/${engine}/upstreams`;
    return [
      `DELETE ${upstreams}/{upstream}`,
      `DELETE ${upstreams}/{upstream}/servers/{id}`,
      `GET ${upstreams}`,
      `GET ${upstreams}/{upstream}`,
      `GET ${upstreams}/{upstream}/servers`,
      `GET ${upstreams}/{upstream}/servers/{id}`,
      `PATCH ${upstreams}/{upstream}/servers/{id}`,
      `POST ${upstreams}/{upstream}/reset`,
      `POST ${upstreams}/{upstream}/servers`,
      `PUT ${upstreams}/{upstream}/servers`,
    ];
  });
  const keys = ['DELETE /v1/kv', 'DELETE /v1/kv/keys/{key}', 'GET /v1/kv', 'GET /v1/kv/keys/{key}', 'POST /v1/kv', 'PUT /v1/kv/keys/{key}'];
  t.deepEqual(document.operations.toSorted(), [...keys, ...members].toSorted());
  t.deepEqual(Object.keys(document.paths['/v1/kv']?.['get']?.responses['200']?.content ?? {}), ['text/plain', 'application/json']);
});

test('If-None-Match: * is offered where the caller names what may be new', async (t) => {
  const node = await shared();
  const { paths } = await OpenApiDocument.of(t, node.srv.port('api'));
  const offers = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).flatMap(([verb, { parameters }]) =>
      parameters.some(({ name, description }) => name === 'If-None-Match' && description?.includes('*') === true)
        ? [`${verb} ${path}`]
        : [],
    ),
  );
  t.deepEqual(offers, ['post /v1/kv', 'put /v1/kv/keys/{key}']);
});

test('schemas have names, and responses their header fields', async (t) => {
  const node = await shared();
  const { paths, components } = await OpenApiDocument.of(t, node.srv.port('api'));
  t.deepEqual(Object.keys(components['schemas'] ?? {}), [
    'KeyState',
    'ListedMember',
    'ListedStreamMember',
    'Member',
    'MemberPatch',
    'NewMember',
    'NewPair',
    'NewStreamMember',
    'NewValue',
    'Pair',
    'Peer',
    'SelectedKeyState',
    'SelectedMember',
    'SelectedPair',
    'SelectedStreamMember',
    'SelectedStreamUpstream',
    'SelectedUpstream',
    'StreamMember',
    'StreamMemberPatch',
    'StreamPeer',
    'StreamUpstream',
    'Upstream',
    'Error',
    'DryRun',
  ]);
  const fields = (verb: string, path: string, status: string) => Object.keys(paths[`/v1${path}`]?.[verb]?.responses[status]?.headers ?? {});
  const servers = `${GROUPS}/{upstream}/servers`;
  t.deepEqual(fields('post', servers, '201'), ['ETag', 'Location']);
  t.deepEqual(fields('get', servers, '200'), ['ETag', 'Link']);
  t.deepEqual(fields('put', servers, '204'), ['ETag', 'Preference-Applied']);
  t.deepEqual(fields('get', servers, '503'), ['Retry-After']);
  t.deepEqual(fields('get', servers, 'default'), ['Allow']);
});

test('responses have the form that the document says: whole, selected and dry', async (t) => {
  const node = await startNode(t, {
    main: STREAM,
    http: 'upstream demo { zone demo 256k; server 127.0.0.1:1; server 127.0.0.1:2 weight=7 max_fails=1; }',
  });
  await node.web();
  const api = await OpenApiDocument.of(t, node.srv.port('api'));
  for (const dry of ['?dry_run=1', '?dry_run=true', '?dry_run=', '?dry_run', '?dry_run=0', '?dry_run=false', '']) {
    const isDry = !/=0|=false|^$/.test(dry);
    const added = await api.call(isDry ? 200 : 201, 'POST', `${SERVERS}/${dry}`, { server: `10.0.0.1:${dry.length + 1}`, drain: true });
    const id = isDry ? 0 : (JSON.parse(added.body) as { id: number }).id;
    await api.call(200, 'PATCH', `${SERVERS}/${id}${dry}`, { weight: '5', route: 'a' });
    await api.call(200, 'DELETE', `${SERVERS}/${id}${dry}`);
    await api.call(200, 'PUT', `${SERVERS}${dry}`, await node.members());
    const servers = ofStream(SERVERS);
    const session = await api.call(isDry ? 200 : 201, 'POST', `${servers}/${dry}`, { server: `10.0.0.1:${dry.length + 1}` });
    const member = isDry ? 0 : (JSON.parse(session.body) as { id: number }).id;
    await api.call(200, 'PATCH', `${servers}/${member}${dry}`, { weight: '5' });
    await api.call(200, 'DELETE', `${servers}/${member}${dry}`);
    await api.call(200, 'PUT', `${servers}${dry}`, JSON.parse((await api.call(200, 'GET', servers)).body) as unknown);
    await api.call(isDry ? 200 : 204, 'DELETE', `${ofStream(DEMO)}${dry}`);
    await api.call(isDry ? 200 : 204, 'POST', `${ofStream(DEMO)}/reset${dry}`);
    await api.call(isDry ? 200 : 204, 'DELETE', `${DEMO}${dry}`);
    await api.call(200, 'POST', `/kv${dry}`, { key: 'color', value: 'red' });
    await api.call(isDry ? 200 : 204, 'POST', `${DEMO}/reset${dry}`);
    await api.call(200, 'PUT', `/kv/keys/shape${dry}`, { value: 'round', ttl: '1h' });
    if (!isDry) await api.call(200, 'DELETE', `/kv${dry}&key=color`.replace(/kv&/, 'kv?'));
    if (!isDry) await api.call(200, 'DELETE', `/kv/keys/shape${dry}`);
  }
  await api.call(200, 'POST', '/kv', { key: 'color', value: 'red' });
  await api.call(200, 'DELETE', '/kv?key=color&dry_run=1');
  await api.call(200, 'GET', '/kv?key=color');
  await api.call(400, 'GET', '/kv?key=color&fields=key');
  for (const fields of ['', '?fields=', '?fields=key', '?fields=value,key']) await api.call(200, 'GET', `/kv${fields}`);
  await api.call(200, 'PUT', '/kv/keys/a%2Fb', { value: '' });
  for (const fields of ['', '?fields=key,ttl']) await api.call(200, 'GET', `/kv/keys/a%2Fb${fields}`);
  for (const fields of ['', '?fields=name,peers', '?fields=keepalive']) {
    await api.call(200, 'GET', `${GROUPS}${fields}`);
    await api.call(200, 'GET', `${DEMO}${fields}`);
    if (fields.endsWith('keepalive')) continue;
    await api.call(200, 'GET', `${ofStream(GROUPS)}${fields}`);
    await api.call(200, 'GET', `${ofStream(DEMO)}${fields}`);
  }
  for (const fields of ['', '?fields=id', '?fields=server,drain']) {
    for (const servers of [SERVERS, ofStream(SERVERS)]) {
      await api.call(200, 'GET', `${servers}/${fields}`);
      await api.call(200, 'GET', `${servers}/0${fields}`);
    }
  }
  t.deepEqual([...api.seen].toSorted(), api.operations.toSorted());
});

test('rejections have a status and a code that the document names', async (t) => {
  const node = await startNode(t, {
    http: `
      dyn_kv_conf conf/kv.conf;
      upstream demo { zone demo 32k; server 127.0.0.1:1; }
      upstream fixed { server 127.0.0.1:1; }`,
    api: 'api_limit_except kv GET POST { deny all; }',
    files: { 'conf/kv.conf': 'max_size 1k; \nmax_key 8;\nmax_value 2k;\n' },
  });
  const api = await OpenApiDocument.of(t, node.srv.port('api'));
  for (const [method, path, body] of [
    ['GET', `${GROUPS}/`],
    ['GET', DEMO],
    ['DELETE', DEMO],
    ['POST', `${DEMO}/reset`],
    ['GET', SERVERS],
    ['GET', `${SERVERS}/0`],
    ['POST', SERVERS, { server: '10.0.0.1' }],
    ['PATCH', `${SERVERS}/0`, {}],
    ['PUT', SERVERS, []],
    ['DELETE', `${SERVERS}/0`],
    ['GET', '/kv?key=a'],
    ['POST', '/kv', { key: 'a', value: '' }],
  ] as const) {
    await api.call(400, method, `${path}${path.includes('?') ? '&' : '?'}colour=red`, body);
    await api.call(403, method, path, body, { host: 'evil.example' });
    await api.call(403, method, path, body, { origin: 'http://evil.example' });
    if (method !== 'GET') await api.call(412, method, path, body, NEVER);
    if (path.includes('demo')) await api.call(404, method, path.replace('demo', 'none'), body);
    if (path.includes('demo')) await api.call(400, method, path.replace('demo', 'fixed'), body);
    if (path.endsWith('/0')) await api.call(404, method, path.replace(/0$/, '7'), body);
    if (path.endsWith('/0')) await api.call(400, method, path.replace(/0$/, 'x'), body);
    if (body === undefined) continue;
    await api.call(400, method, path, '{');
    await api.call(413, method, path, ' '.repeat((method === 'PUT' ? 32 : 5) * 1024 * 1024 + 1));
    await api.call(415, method, path, body, { 'content-type': 'text/plain' });
  }
  await api.call(409, 'POST', SERVERS, { server: '127.0.0.1:1' });
  await api.call(400, 'POST', SERVERS, { server: 'name:1' });
  await api.call(400, 'PATCH', `${SERVERS}/0`, { server: '1.2.3.4:99999' });
  await api.call(
    507,
    'PUT',
    SERVERS,
    Array.from({ length: 999 }, (_, n) => ({ server: `127.0.0.1:${n + 1}` })),
  );
  await api.call(404, 'GET', '/kv?key=none');
  await api.call(403, 'DELETE', '/kv?key=none');
  await api.call(413, 'POST', '/kv', { key: 'ninebytes', value: '' });
  await api.call(413, 'POST', '/kv', { key: 'k', value: 'x'.repeat(2049) });
  await api.call(507, 'POST', '/kv', { key: 'k', value: 'x'.repeat(1025) });
});

test('a data plane that is away is a 503 that the document names', async (t) => {
  const node = await shared();
  const api = await OpenApiDocument.of(t, node.srv.port('api'));
  // Without its master the API would end as well: it is held.
  node.srv.signal('SIGSTOP');
  try {
    await Promise.all([
      ...[GROUPS, ofStream(GROUPS)].flatMap((groups) => {
        const [demo, servers] = [`${groups}/demo`, `${groups}/demo/servers`];
        return [
          api.call(503, 'GET', groups),
          api.call(503, 'GET', demo),
          api.call(503, 'DELETE', demo),
          api.call(503, 'GET', servers),
          api.call(503, 'GET', `${servers}/0`),
          api.call(503, 'POST', servers, { server: '10.0.0.1:1' }),
          api.call(503, 'PATCH', `${servers}/0`, {}),
          api.call(503, 'PUT', servers, []),
          api.call(503, 'DELETE', `${servers}/0`),
          api.call(503, 'POST', `${demo}/reset`),
        ];
      }),
      api.call(503, 'GET', '/kv?key=a'),
      api.call(503, 'GET', '/kv'),
      api.call(503, 'POST', '/kv', { key: 'a', value: '' }),
      api.call(503, 'DELETE', '/kv?key=a'),
      api.call(503, 'GET', '/kv/keys/a'),
      api.call(503, 'PUT', '/kv/keys/a', { value: '' }),
      api.call(503, 'DELETE', '/kv/keys/a'),
    ]);
  } finally {
    node.srv.signal('SIGCONT');
  }
  await node.ready();
  t.deepEqual([...api.seen].toSorted(), api.operations.toSorted());
});

test('the document is a page too: every operation, no script, nothing from elsewhere', async (t) => {
  const node = await shared();
  const document = await OpenApiDocument.of(t, node.srv.port('api'));
  const page = await get(node.srv.port('api'), '/api/v1/openapi.html');
  t.is(page.status, 200);
  t.is(page.headers['content-type'], 'text/html; charset=utf-8');
  t.regex(String(page.headers['content-security-policy']), /^default-src 'none'; style-src 'sha256-[\w+/=]+';/);
  const shown = Array.from(page.body.matchAll(/<span class="(\w+)">\w+<\/span> <code>([^<]+)/g), ([, method, path]) => `${method} ${path}`);
  t.deepEqual(shown.toSorted(), document.operations.toSorted());
  t.notRegex(page.body, /<script|src=|https?:/);
  const anchors = new Set(Array.from(page.body.matchAll(/ id="([^"]+)"/g), ([, id]) => id));
  for (const [, target] of page.body.matchAll(/href="#([^"]+)"/g)) t.true(anchors.has(target), target);
  t.is((await node.call('POST', '/openapi.html')).status, 405);
});
