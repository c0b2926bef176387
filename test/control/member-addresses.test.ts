import test from 'ava';
import { errorOf } from './api-client.js';
import { sharedNode, startNode, upstreams } from './node.js';

/** An upstream for each test. */
const shared = sharedNode({
  http: `${upstreams('demo', 'pages', 'sockets', 'times')}
    upstream addressed { zone addressed 256k; server 10.1.0.7:8080; server [::1]:81; server 10.1.0.8; }
    upstream resolved { zone resolved 256k; server localhost:1; }
    upstream twice { zone twice 256k; server 10.0.0.1; server 10.0.0.1; server 10.0.0.1; }
    upstream hosts { zone hosts 256k; server localhost:1; server 10.0.0.1:1; }
    upstream fields { zone fields 256k; server localhost:1; server 10.0.0.1:1; }
    upstream service { zone service 256k; server localhost:1; server localhost:2; }`,
});

const nextPage = (after: number) => `</api/v1/upstream_api/http/upstreams/pages/servers?limit=3&after=${after}>; rel="next"`;

test('a member is addressed by its address as well as by its id', async (t) => {
  const node = await shared();
  const found = async (path: string) => (await node.upstreams('GET', path)).json as { id: number } | { id: number }[];
  t.like(await found('/addressed/servers/10.1.0.7:8080'), { id: 0, server: '10.1.0.7:8080' });
  t.like(await found('/addressed/servers/[0::1]:81'), { id: 1 });
  t.like(await found('/addressed/servers/10.1.0.8'), { id: 2 });
  t.deepEqual(
    ((await found('/addressed/servers?server=10.1.0.7:8080')) as { id: number }[]).map(({ id }) => id),
    [0],
  );
  t.deepEqual(await found('/addressed/servers?server=10.9.9.9'), [] as never);
  t.is(errorOf(await node.upstreams('GET', '/addressed/servers?server=10.9.9.9:0')).code, 'UpstreamBadAddress');
  t.is(errorOf(await node.upstreams('GET', '/addressed/servers/10.9.9.9:0')).code, 'UpstreamBadServerId');

  t.like((await node.upstreams('PATCH', '/addressed/servers/10.1.0.7:8080', { weight: 4 })).json, { id: 0, weight: 4 });
  t.like((await node.upstreams('PATCH', '/addressed/servers/10.1.0.8', { server: '10.1.0.9' })).json, { id: 2, server: '10.1.0.9:80' });
  t.is((await node.upstreams('DELETE', '/addressed/servers/10.1.0.9:80')).status, 200);
  t.deepEqual(await node.list('addressed'), ['0 10.1.0.7:8080', '1 [::1]:81']);
  const missing = await node.upstreams('DELETE', '/addressed/servers/10.1.0.9:80');
  t.is(`${missing.status} ${errorOf(missing).code}`, '404 UpstreamServerNotFound');
});

test('a resolved member is found by the address that its name has', async (t) => {
  const node = await shared();
  const [first] = await node.members('resolved');
  t.is((await node.upstreams('GET', `/resolved/servers/${first?.server}`)).status, 200);
  t.like((await node.upstreams('GET', '/resolved/servers/localhost:1')).json, { id: 0, host: 'localhost:1' });
});

test('members are listed in pages', async (t) => {
  const node = await shared();
  const servers = Array.from({ length: 7 }, (_, n) => ({ server: `10.0.0.${n}:80` }));
  await node.upstreams('PUT', '/pages/servers/', servers);
  const page = async (query: string) => {
    const { json, headers } = await node.upstreams('GET', `/pages/servers?${query}`);
    return { ids: (json as { id: number }[]).map(({ id }) => id), link: headers['link'] };
  };
  t.deepEqual(await page('limit=3'), { ids: [2, 3, 4], link: nextPage(4) });
  await node.upstreams('DELETE', '/pages/servers/4');
  t.deepEqual(await page('limit=3&after=4'), { ids: [5, 6, 7], link: nextPage(7) });
  t.deepEqual(await page('limit=3&after=7'), { ids: [8], link: undefined });
  t.deepEqual(await page('after=6'), { ids: [7, 8], link: undefined });
  t.is((await node.upstreams('GET', '/pages/servers?limit=0')).status, 400);
});

test('unix sockets are added only below the folders of api_unix_members', async (t) => {
  const node = await startNode(t, {
    http: `api_unix_members /run/apps /srv/apps/;
      upstream demo { zone demo 256k; server unix:/tmp/s.sock; }
      upstream own { zone own 64k; api_unix_members run; server 127.0.0.1:1; }`,
  });
  const post = async (server: string, upstream = 'demo') => {
    const answer = await node.upstreams('POST', `/${upstream}/servers/`, { server });
    return answer.status === 201 ? '201' : `${answer.status} ${errorOf(answer).code}`;
  };
  t.is(await post('unix:/run/apps/a.sock'), '201');
  t.is(await post('unix:/srv/apps/deep/a.sock'), '201');
  for (const path of ['/run/appsx/a', '/run/apps', '/run/apps/../x', '/run/apps/./x', '/run/apps//x', '/var/run/docker.sock'])
    t.is(await post(`unix:${path}`), '400 UpstreamBadAddress', path);
  t.is(await post('unix:/run/apps/a.sock', 'own'), '400 UpstreamBadAddress');
  t.is(await post(`unix:${node.srv.prefix}/run/a.sock`, 'own'), '201');
  t.is(errorOf(await node.upstreams('PATCH', '/own/servers/0', { server: 'unix:/x' })).code, 'UpstreamBadAddress');
  // A member of the file may stay, also in a list that is sent back.
  t.is((await node.upstreams('PATCH', '/demo/servers/0', { weight: 3 })).status, 200);
  t.is((await node.upstreams('PUT', '/demo/servers/', await node.members())).status, 200);
  t.is(await post('unix:/tmp/s.sock'), '409 EntryExists');
});

test('without api_unix_members no unix socket is added', async (t) => {
  const node = await shared();
  const refused = await node.upstreams('POST', '/sockets/servers/', { server: 'unix:/var/run/docker.sock' });
  t.is(refused.status, 400);
  t.regex(errorOf(refused).text, /unix sockets must be below a folder that "api_unix_members" names$/);
});

test('an address that the file has twice is free when the last of the two is gone', async (t) => {
  const node = await shared();
  for (const id of [0, 2]) {
    await node.upstreams('DELETE', `/twice/servers/${id}`);
    t.like(errorOf(await node.upstreams('POST', '/twice/servers/', { server: '10.0.0.1' })), { code: 'EntryExists', details: [{ id: 1 }] });
  }
  await node.upstreams('PATCH', '/twice/servers/1', { server: '10.0.0.2' });
  t.is((await node.upstreams('POST', '/twice/servers/', { server: '10.0.0.1' })).status, 201);
});

test('PUT: host is what GET shows, and never another server', async (t) => {
  const node = await shared();
  const members = await node.members('hosts');
  const put = async (list: unknown[]) => {
    const answer = await node.upstreams('PUT', '/hosts/servers/', list);
    return answer.status === 200 ? '200' : errorOf(answer).details.map(({ pointer }) => pointer);
  };
  t.deepEqual(await put([{ server: '10.0.0.5:80', host: '10.0.0.6:80' }]), ['/0/host']);
  t.deepEqual(await put([...members, { server: '10.0.0.5:80', host: 'other:80' }]), [`/${members.length}/host`]);
  t.deepEqual(await put([{ ...members[0], server: '10.0.0.5:80' }]), ['/0/server']);
  t.deepEqual(await node.members('hosts'), members);
  t.is(await put(members.map((member) => ({ ...member, weight: 2 }))), '200');
  t.true((await node.members('hosts')).every(({ weight }) => weight === 2));
  t.is(await put([{ server: '10.0.0.5:80' }]), '200');
  t.deepEqual(
    (await node.members('hosts')).map(({ server }) => server),
    ['10.0.0.5:80'],
  );
});

test('PATCH: read-only fields are accepted as GET shows them', async (t) => {
  const node = await shared();
  for (const member of await node.members('fields'))
    t.deepEqual((await node.upstreams('PATCH', `/fields/servers/${member.id}`, member)).json, member);
  for (const fields of [{ id: 7 }, { host: 'other:1' }, { parent: 1 }]) {
    const refused = errorOf(await node.upstreams('PATCH', '/fields/servers/0', fields));
    t.deepEqual(refused.details, [{ pointer: `/${Object.keys(fields)[0]}`, message: 'is read-only' }]);
  }
});

test('service needs a resolver', async (t) => {
  const node = await shared();
  const service = await node.upstreams('PATCH', '/service/servers/0', { service: 'http' });
  t.is(`${service.status} ${errorOf(service).code}`, '400 UpstreamConfNoResolver');
  t.deepEqual(
    errorOf(service).details.map(({ pointer }) => pointer),
    ['/service'],
  );
  const members = await node.members('service');
  const listed = await node.upstreams(
    'PUT',
    '/service/servers/',
    members.map((member) => ({ ...member, service: 'ftp' })),
  );
  t.is(errorOf(listed).code, 'UpstreamConfNoResolver');
  t.is((await node.upstreams('PUT', '/service/servers/', members)).status, 200);
});

test('times are shown in whole seconds, else in milliseconds', async (t) => {
  const node = await shared();
  const times: [sent: unknown, shown: string][] = [
    ['1m', '60s'],
    ['1m30s', '90s'],
    ['1h', '3600s'],
    ['1d', '86400s'],
    ['1500ms', '1500ms'],
    [0.25, '250ms'],
    ['2000ms', '2s'],
    [0, '0s'],
    [999_999_999, '999999999s'],
  ];
  for (const [sent, shown] of times) {
    const { json } = await node.upstreams('PATCH', '/times/servers/0', { fail_timeout: sent, slow_start: sent });
    t.like(json, { fail_timeout: shown, slow_start: shown });
  }
  const members = await node.members('times');
  t.deepEqual((await node.upstreams('PUT', '/times/servers/', members)).json, members);
  for (const time of [1_000_000_000, '1000000000s', '1000000000000', '1000000000000ms', 1e13, '99y']) {
    const refused = await node.upstreams('PATCH', '/times/servers/0', { fail_timeout: time });
    t.deepEqual(
      errorOf(refused).details.map(({ pointer }) => pointer),
      ['/fail_timeout'],
      String(time),
    );
  }
});
