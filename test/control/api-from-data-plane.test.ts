/** Clients of the data plane do not get to the control plane, whatever way they try. */
import { symlinkSync } from 'node:fs';
import { relative } from 'node:path';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { exchange, get } from '../harness/client.js';
import { freePort } from '../harness/ports.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode, type Node } from './node.js';

/** Below `/api/`: a location for each name, and what it passes to. */
const TARGETS = {
  address: 'http://127.0.0.1:%%PORT_api%%',
  name: 'http://localhost:%%PORT_api%%',
  any: 'http://0.0.0.0:%%PORT_api%%',
  mapped: 'http://[::ffff:127.0.0.1]:%%PORT_api%%',
  tls: 'https://127.0.0.1:%%PORT_api%%',
  variable: 'http://$arg_to',
  upstream: 'http://control',
  wide: 'http://127.0.0.1:%%PORT_wide%%',
  wideOther: 'http://127.0.0.77:%%PORT_wide%%',
  wide6: 'http://[::1]:%%PORT_wide6%%',
  wide6any: 'http://[::]:%%PORT_wide6%%',
  wideMapped: 'http://[::ffff:127.0.0.1]:%%PORT_wide%%',
  bothMapped: 'http://[::ffff:7f00:5]:%%PORT_both%%',
  both: 'http://127.0.0.9:%%PORT_both%%',
  socket: 'http://unix:%%PREFIX%%/api.sock:',
  dots: 'http://unix:%%PREFIX%%/logs/../api.sock:',
  link: 'http://unix:%%PREFIX%%/link.sock:',
  bus: 'http://unix:%%PREFIX%%/data/bus.sock:',
  indirect: 'http://127.0.0.1:%%PORT_web%%/api/address',
} as const;

const CONTROL = `
  server { listen 0.0.0.0:%%PORT_wide%%; return 200 control; }
  server { listen [::]:%%PORT_wide6%%; return 200 control; }
  server { listen [::]:%%PORT_both%% ipv6only=off; return 200 control; }
  server { listen unix:%%PREFIX%%/api.sock; return 200 control; }`;

const site = shared((scope): Promise<Node> => {
  const locations = Object.entries(TARGETS).map(([name, target]) => `location = /api/${name} { proxy_pass ${target}; }`);
  return startNode(scope, {
    workers: 1,
    main: 'load_module modules/srv_http_proxy_connect_module.so; load_module modules/srv_http_health_check_module.so;',
    control: CONTROL,
    http: `upstream demo { zone demo 64k; server 127.0.0.1:1; }
      upstream control { zone control 64k; server 127.0.0.1:%%PORT_api%%; }
      upstream checked { zone checked 64k; server 127.0.0.1:%%PORT_api%%; health_check_tcp interval=50ms fails=1 {} }
      server { listen 127.0.0.1:%%PORT_connect%%; proxy_connect; proxy_connect_allow all; proxy_connect_destination allow all; }
      server { listen 127.0.0.5:%%PORT_wide6%%; return 200 neighbour; }`,
    server: `${locations.join('\n')}
      location = /neighbour { proxy_pass http://127.0.0.5:%%PORT_wide6%%; }
      location = /loopback { proxy_pass http://127.0.0.2:%%PORT_api%%; }
      location / { proxy_pass http://demo; }`,
    stream: `server { listen 127.0.0.1:%%PORT_stream%%; proxy_pass 127.0.0.1:%%PORT_api%%; }
      server { listen 127.0.0.1:%%PORT_mapped%%; proxy_pass [::ffff:127.0.0.5]:%%PORT_wide%%; }`,
  });
});

for (const name of Object.keys(TARGETS))
  test.serial(`no location passes to the control plane: ${name}`, async (t) => {
    const { srv } = await site();
    if (name === 'link' && !srv.read('logs/linked')) symlinkSync(relative(srv.prefix, srv.path('api.sock')), srv.path('link.sock'));
    const { status, body } = await get(srv.port('web'), `/api/${name}?to=127.0.0.1:${srv.port('api')}`);
    t.is(status, 502);
    t.notRegex(body, /control/);
    await srv.waitForLog(/\[error\].*connect\(\) rejected: the control plane of this server listens there, "api_from_data_plane on"/);
  });

test.serial('addresses at which the control plane does not listen are members as any others', async (t) => {
  const { srv } = await site();
  t.is((await get(srv.port('web'), '/neighbour')).body, 'neighbour');
  await get(srv.port('web'), '/loopback');
  await srv.waitForLog(new RegExp(`connect\\(\\) failed \\(111: Connection refused\\).*127\\.0\\.0\\.2:${srv.port('api')}`));
});

test.serial('neither streams nor CONNECT lead to the control plane', async (t) => {
  const { srv } = await site();
  const request = `GET /api/v1/kv HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  t.is(await exchange(t, srv.port('stream'), request), '');
  t.is(await exchange(t, srv.port('mapped'), request), '');
  const host = `127.0.0.1:${srv.port('api')}`;
  const response = await exchange(t, srv.port('connect'), `CONNECT ${host} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  t.regex(response, /^HTTP\/1\.1 502 /);
});

test.serial('a member that the API adds does not lead to the API', async (t) => {
  const node = await site();
  const { status } = await node.upstreams('POST', '/demo/servers/', { server: `127.0.0.1:${node.srv.port('api')}` });
  t.is(status, 201);
  const [first] = await node.members();
  await node.upstreams('PATCH', `/demo/servers/${first?.id}`, { down: true });
  t.is((await node.web('/api/v1/kv')).status, 502);
  const { srv } = node;
  await srv.waitForLog(
    new RegExp(`\\[warn\\] .* server "127\\.0\\.0\\.1:${srv.port('api')}" in upstream "demo" leads to the control plane of this server`),
  );
  t.is(srv.log().match(/in upstream "demo" leads to the control plane/g)?.length, 1, 'a change of its parameters does not say so again');
});

test.serial('health checks fail, and say why', async (t) => {
  const node = await site();
  const error = await waitFor('a check', async () => {
    const { json } = await node.upstreams('GET', '/checked');
    return JSON.stringify(json).match(/"last_error":"([^"]+)/)?.[1];
  });
  t.regex(error, /^connect\(\) rejected: the control plane of this server listens there/);
});

test.serial('listeners that a reload brings and removes', async (t) => {
  const { srv } = await site();
  const conf = srv.read('conf/ctrl.conf');
  const port = await freePort(t);
  const to = `/api/variable?to=127.0.0.1:${port}`;
  const reload = async (text: string): Promise<void> => {
    await srv.configure(text, 'conf/ctrl.conf');
    srv.signal('SIGHUP');
  };
  await reload(conf.replace('http {', `http { server { listen 127.0.0.1:${port}; return 200 control; }`));
  await waitFor('the new listener', async () => (await get(port, '/').catch(() => undefined))?.body === 'control');
  t.is((await get(srv.port('web'), to)).status, 502);
  await reload(conf);
  await waitFor('the end of the listener', () =>
    get(port, '/').then(
      () => false,
      () => true,
    ),
  );
  await httpBackend(t, (_, response) => response.end('member'), port);
  await waitFor('the member', async () => (await get(srv.port('web'), to)).body === 'member');
  t.pass();
});

test.serial('the file may allow it', async (t) => {
  const { srv } = await site();
  const conf = srv.read('conf/srv.conf');
  await srv.configure(`api_from_data_plane on;\n${conf}`);
  srv.signal('SIGHUP');
  await waitFor('the API', async () => (await get(srv.port('web'), '/api/wide')).body === 'control');
  t.is((await get(srv.port('web'), '/api/link')).body, 'control');
  await srv.configure(conf);
  srv.signal('SIGHUP');
  await waitFor('the end of it', async () => (await get(srv.port('web'), '/api/wide')).status === 502);
  t.pass();
});
