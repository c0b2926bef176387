import { connect as connectTls } from 'node:tls';
import { once } from 'node:events';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, exchange } from '../harness/client.js';
import { datagramBackend, datagramClient, echo } from '../harness/datagrams.js';
import { shared } from '../harness/scope.js';
import { waitFor } from '../harness/wait.js';
import { startNode } from '../control/node.js';

interface Figures {
  readonly sessions: number;
  readonly active: number;
  readonly responses: { readonly codes: Readonly<Record<string, number>> };
  readonly received: number;
  readonly sent: number;
  readonly tls: number;
  readonly udp: number;
  readonly retries: number;
  readonly limits: { readonly conn_rejected: number };
  readonly times: { readonly count: number };
  readonly attempts: number;
  readonly failures: number;
  readonly timeouts: number;
  readonly connect_times: { readonly count: number };
  readonly header_times: { readonly count: number };
  readonly servers: Readonly<Record<string, Figures>>;
}
type Section = Readonly<Record<string, Figures>>;

const SILENCE = 300;

const node = shared(async (scope) => {
  const live = await rawBackend(scope, (socket) => void socket.pipe(socket));
  const datagrams = await datagramBackend(scope, echo);
  const silent = await datagramBackend(scope, () => undefined);
  const { key, cert } = selfSigned('here.example');
  const node = await startNode(scope, {
    main: 'load_module modules/srv_http_vts_module.so; load_module modules/srv_stream_vts_module.so;',
    controlMain: 'load_module modules/srv_http_vts_api_module.so;',
    files: { 'conf/key.pem': key, 'conf/cert.pem': cert },
    stream: `
      vts on;
      limit_conn_zone $server_port zone=ports:64k;
      upstream pair { server 127.0.0.1:1 max_fails=0; server 127.0.0.1:${live.port} max_fails=0; }
      server { listen 127.0.0.1:%%PORT_tcp%%; server_name tcp.example; proxy_pass pair; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; status_zone tls; ssl_certificate cert.pem; ssl_certificate_key key.pem; return secret; }
      server { listen 127.0.0.1:%%PORT_denied%%; status_zone denied; deny all; return x; }
      server { listen 127.0.0.1:%%PORT_narrow%%; status_zone narrow; limit_conn ports 1; proxy_pass 127.0.0.1:${live.port}; }
      server { listen 127.0.0.1:%%PORT_udp%% udp; status_zone udp; proxy_responses 1; proxy_pass 127.0.0.1:${datagrams.port}; }
      server { listen 127.0.0.1:%%PORT_silent%% udp; status_zone silent; proxy_timeout ${SILENCE}ms; proxy_responses 1; proxy_pass 127.0.0.1:${silent.port}; }
      server { listen 127.0.0.1:%%PORT_off%%; vts off; server_name off; return off; }
      server { listen 127.0.0.1:%%PORT_unnamed%%; return unnamed; }`,
  });
  return { node, live, datagrams, silent, srv: node.srv };
});

async function servers(): Promise<Section> {
  return ((await (await node()).node.call('GET', '/vts')).json as { readonly stream_servers?: Section }).stream_servers ?? {};
}
async function upstreams(): Promise<Section> {
  return ((await (await node()).node.call('GET', '/vts')).json as { readonly stream_upstreams?: Section }).stream_upstreams ?? {};
}
const sessions = (name: string, count: number): Promise<unknown> =>
  waitFor(`${count} sessions of ${name}`, async () => (await servers())[name]?.sessions === count);

test.serial('sessions are counted by server, attempts by upstream and member, with retries, bytes and times', async (t) => {
  const { srv, live } = await node();
  for (let round = 0; round < 6; round++) {
    const client = await connectRaw(t, srv.port('tcp'));
    client.send('hello');
    await client.receive(/hello/);
    if (round === 0) {
      await waitFor('the session under way', async () => (await servers())['tcp.example']?.active === 1);
      t.is((await servers())['tcp.example']!.sessions, 0);
    }
    client.socket.end();
  }
  await sessions('tcp.example', 6);
  const server = (await servers())['tcp.example']!;
  const pair = (await upstreams())['pair']!;
  const dead = pair.servers['127.0.0.1:1']!;
  const member = pair.servers[`127.0.0.1:${live.port}`]!;
  t.like(server, { active: 0, received: 30, sent: 30, tls: 0, udp: 0, responses: { codes: { 200: 6 } }, times: { count: 6 } });
  t.is(server.retries, dead.attempts);
  t.like(member, { attempts: 6, failures: 0, received: 30, sent: 30, responses: { codes: { 200: 6 } }, times: { count: 6 } });
  t.true(dead.attempts > 0);
  t.deepEqual(dead.responses.codes, { 502: dead.attempts });
  t.is(pair.attempts, 6 + dead.attempts);
  t.is(pair.connect_times.count, 6);
  t.is(pair.header_times.count, 6);
});

test.serial('sessions over TLS, denied and limited ones, and servers without a name', async (t) => {
  const { srv } = await node();
  const secure = connectTls({ port: srv.port('tls'), host: '127.0.0.1', rejectUnauthorized: false });
  secure.resume();
  await once(secure, 'close');
  for (const name of ['denied', 'denied', 'off', 'unnamed']) await exchange(t, srv.port(name), '').catch(() => undefined);
  const held = await connectRaw(t, srv.port('narrow'));
  held.send('hello');
  await held.receive(/hello/);
  await exchange(t, srv.port('narrow'), '').catch(() => undefined);
  held.socket.end();
  const unnamed = `127.0.0.1:${srv.port('unnamed')}`;
  for (const [name, count] of Object.entries({ tls: 1, denied: 2, narrow: 2, [unnamed]: 1 })) await sessions(name, count);
  const all = await servers();
  t.like(all['tls'], { tls: 1, sent: 'secret'.length, responses: { codes: { 200: 1 } } });
  t.deepEqual(all['denied']!.responses.codes, { 403: 2 });
  t.deepEqual(all['narrow']!.responses.codes, { 200: 1, 503: 1 });
  t.is(all['narrow']!.limits.conn_rejected, 1);
  t.false('off' in all);
});

test.serial('datagrams are sessions; a member that does not respond has timed out', async (t) => {
  const { srv, silent } = await node();
  const client = await datagramClient(t, srv.port('udp'));
  client.send('datagram');
  const other = await datagramClient(t, srv.port('silent'));
  other.send('lost');
  await sessions('udp', 1);
  await sessions('silent', 1);
  const all = await servers();
  t.like(all['udp'], { udp: 1, received: 8, sent: 8, responses: { codes: { 200: 1 } } });
  t.like(all['silent'], { udp: 1, received: 4, sent: 0, responses: { codes: { 502: 1 } } });
  const alone = (await upstreams())[`127.0.0.1:${silent.port}`]!;
  t.like(alone, { attempts: 1, failures: 1, timeouts: 1, sent: 4, received: 0 });
});
