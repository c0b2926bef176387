/** The ETag of a list is good for a change of what is in it. */
import test from 'ava';
import { sharedNode } from './node.js';

const NAMES = ['http_dyn_upstream', 'http_dyn_server', 'http_location', 'stream_dyn_server', 'stream_dyn_upstream'];
const shared = sharedNode({
  workers: 1,
  main: NAMES.map((name) => `load_module modules/srv_${name}_module.so;`).join(' '),
  controlMain: ['http_transactions', ...NAMES].map((name) => `load_module modules/srv_${name}_api_module.so;`).join(' '),
  stream: 'server { listen 127.0.0.1:%%PORT_stream%%; return a; }',
});

const MEMBERS = '/upstream_api/http/upstreams/demo/servers/';
const CHANGES: readonly (readonly [list: string, method: string, path: string, body: object])[] = [
  ['/dyn_srv', 'POST', '/dyn_srv', { addr_port: 'WEB', server_name: 'a', server_body: 'return 200' }],
  ['/dyn_srv', 'PATCH', '/dyn_srv', { addr_port: 'WEB', server_name: 'a', server_body: 'return 201' }],
  ['/dyn_srv?addr_port=WEB&server_name=a', 'PATCH', '/dyn_srv', { addr_port: 'WEB', server_name: 'a', server_body: 'return 202' }],
  ['/stream_srv', 'PATCH', '/stream_srv?force=1', { addr_port: 'STREAM', server_body: 'return b' }],
  ['/dyn_ups', 'POST', '/dyn_ups', { upstream_name: 'n', upstream_body: 'zone n 64k' }],
  ['/dyn_ups', 'PATCH', '/dyn_ups/n', { upstream_body: 'zone n 64k; least_conn' }],
  ['/dyn_stream_ups', 'POST', '/dyn_stream_ups', { upstream_name: 'n', upstream_body: 'zone n 64k' }],
  [
    '/dyn_loc',
    'POST',
    '/dyn_loc',
    { addr_port: 'WEB', locations: [{ location_rule: '', location_name: '/l', location_body: 'return 200' }] },
  ],
  ['/upstream_api/http/upstreams/', 'POST', MEMBERS, { server: '10.0.0.1' }],
  [MEMBERS, 'PATCH', `${MEMBERS}1`, { weight: 3 }],
  ['/upstream_api/http/upstreams/demo', 'PATCH', `${MEMBERS}1`, { weight: 4 }],
];

for (const [list, method, path, body] of CHANGES)
  test.serial(`If-Match with the ETag of ${list}: ${method} ${path}`, async (t) => {
    const { srv, call } = await node();
    const fill = (text: string): string =>
      text.replace('WEB', `127.0.0.1:${srv.port('web')}`).replace('STREAM', `127.0.0.1:${srv.port('stream')}`);
    const sent = JSON.parse(fill(JSON.stringify(body))) as object;
    const { etag = '' } = (await call('GET', fill(list))).headers;
    const other = await call('PATCH', `${MEMBERS}0`, { weight: Math.floor(Math.random() * 60_000) + 1 });
    t.is(other.status, 200, other.body);
    t.is((await call(method, path, sent, { 'if-match': etag })).status, 412, 'something else has changed');
    const { etag: now = '' } = (await call('GET', fill(list))).headers;
    t.not(now, etag);
    const { status, body: answer } = await call(method, path, sent, { 'if-match': now });
    t.true(status === 200 || status === 201, answer);
  });

test.serial('a transaction that is no object is rejected', async (t) => {
  const { call } = await node();
  for (const body of [null, [], 'calls', 1]) t.is((await call('POST', '/transactions', body)).status, 400, JSON.stringify(body));
});

async function node() {
  const found = await shared();
  return { srv: found.srv, call: found.call.bind(found) };
}
