/** Who may connect: allow and deny, limit_conn, and the address that a trusted proxy tells. */
import { createSocket } from 'node:dgram';
import { connect } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import { rawBackend } from '../harness/backends.js';
import { RawConnection } from '../harness/client.js';
import { shared } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { rejects } from './rejected.js';
import { reply } from './reply.js';

const site = shared(async (scope) => {
  const echo = await rawBackend(scope, (socket) => {
    socket.write('ready ');
    socket.pipe(socket);
  });
  return startSrv(
    scope,
    `worker_processes 2; error_log logs/error.log info; events {}
    stream {
      deny 127.0.0.9;
      limit_conn_zone $remote_addr zone=address:1m;
      limit_conn_zone $server_port zone=port:1m;
      log_format all '$server_port $status $limit_conn_status $remote_addr:$remote_port $realip_remote_addr:$realip_remote_port';
      access_log logs/all.log all;
      server { listen 127.0.0.1:%%PORT_outer%%; return open; }
      server { listen 127.0.0.1:%%PORT_rules%%; allow 127.0.0.2; deny 127.0.0.0/29; allow all; return open; }
      server { listen 127.0.0.1:%%PORT_two%%; limit_conn address 2; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_both%%; limit_conn address 1; limit_conn port 2; limit_conn_log_level warn; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_dry%%; limit_conn address 1; limit_conn_dry_run on; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_datagrams%% udp; allow 127.0.0.2; deny all; set $said "you are $remote_addr, $protocol"; return $said; }
      server { listen 127.0.0.1:%%PORT_real%% proxy_protocol; set_real_ip_from 127.0.0.2; set_real_ip_from 2001:db8::/32; deny 192.0.2.1;
        return "$remote_addr:$remote_port $realip_remote_addr"; }
    }`,
  );
});

const port = async (name: string): Promise<number> => (await site()).port(name);

/** A connection that is let through to its backend. */
async function held(t: ExecutionContext, name: string, from = '127.0.0.1'): Promise<RawConnection> {
  const socket = connect({ port: await port(name), host: '127.0.0.1', localAddress: from });
  t.teardown(() => socket.destroy());
  const connection = new RawConnection(socket);
  await connection.receive(/ready/);
  return connection;
}

/** Closed without a word. */
const isRejected = async (name: string, from = '127.0.0.1'): Promise<boolean> => (await reply(await port(name), { from })) === '';

test('the first rule that fits decides; a server without rules has those around it', async (t) => {
  t.is(await reply(await port('rules'), { from: '127.0.0.2' }), 'open');
  t.true(await isRejected('rules', '127.0.0.3'));
  t.is(await reply(await port('rules'), { from: '127.0.0.9' }), 'open');
  t.true(await isRejected('outer', '127.0.0.9'));
  t.is(await reply(await port('outer')), 'open');
  await (await site()).waitForLog(/\[error\] .*access forbidden by rule, client: 127\.0\.0\.3, server: 127\.0\.0\.1:\d+/);
});

test('a rejected connection is logged with its status', async (t) => {
  t.true(await isRejected('rules', '127.0.0.4'));
  await (await site()).waitForLog(new RegExp(`^${await port('rules')} 403 - 127\\.0\\.0\\.4:`, 'm'), 'logs/all.log');
});

test('as many connections of a key as the limit, over all workers; they count until they end', async (t) => {
  const to = await port('two');
  const connections = [await held(t, 'two'), await held(t, 'two')];
  for (let times = 0; times < 4; times++) t.true(await isRejected('two'));
  await held(t, 'two', '127.0.0.2');
  const srv = await site();
  await srv.waitForLog(/\[error\] .*limiting connections by zone "address", client: 127\.0\.0\.1, server: /);
  await srv.waitForLog(new RegExp(`^${to} 503 REJECTED 127\\.0\\.0\\.1:`, 'm'), 'logs/all.log');
  connections[0]?.socket.destroy();
  await srv.waitForLog(new RegExp(`^${to} 200 PASSED 127\\.0\\.0\\.1:`, 'm'), 'logs/all.log');
  await held(t, 'two');
});

test('several limits: what the first has counted is given back where the second rejects', async (t) => {
  await held(t, 'both', '127.0.0.11');
  await held(t, 'both', '127.0.0.12');
  for (let times = 0; times < 3; times++) t.true(await isRejected('both', '127.0.0.13'));
  const srv = await site();
  await srv.waitForLog(/\[warn\] .*limiting connections by zone "port", client: 127\.0\.0\.13, /);
  // Two of this address are allowed there.
  await held(t, 'two', '127.0.0.13');
  await held(t, 'two', '127.0.0.13');
});

test('limit_conn_dry_run counts and logs alone', async (t) => {
  const connections = [await held(t, 'dry', '127.0.0.5'), await held(t, 'dry', '127.0.0.5')];
  const srv = await site();
  await srv.waitForLog(/limiting connections, dry run, by zone "address", client: 127\.0\.0\.5, /);
  for (const { socket } of connections) socket.destroy();
  await srv.waitForLog(new RegExp(`^${await port('dry')} 200 REJECTED_DRY_RUN 127\\.0\\.0\\.5:`, 'm'), 'logs/all.log');
  t.pass();
});

test('rules and texts for datagrams', async (t) => {
  const to = await port('datagrams');
  const [allowed, denied] = [createSocket('udp4'), createSocket('udp4')];
  t.teardown(() => {
    allowed.close();
    denied.close();
  });
  denied.send('x', to, '127.0.0.1');
  await (await site()).waitForLog(/access forbidden by rule, udp client: 127\.0\.0\.1, /);
  const said = new Promise<string>((resolve) => {
    allowed.once('message', (bytes) => resolve(bytes.toString()));
  });
  allowed.bind(0, '127.0.0.2', () => allowed.send('x', to, '127.0.0.1'));
  t.is(await said, 'you are 127.0.0.2, UDP');
});

const HEADER = 'PROXY TCP4 192.0.2.7 203.0.113.1 5000 80\r\n';

test('the address that a trusted proxy tells is that of the client', async (t) => {
  t.is(await reply(await port('real'), { from: '127.0.0.2', bytes: HEADER }), '192.0.2.7:5000 127.0.0.2');
  await (await site()).waitForLog(/ 200 - 192\.0\.2\.7:5000 127\.0\.0\.2:\d+$/m, 'logs/all.log');
});

test('that of another one is not, and neither is what a proxy says of itself', async (t) => {
  const spelled = 'PROXY TCP6 2001:0DB8:0:0::1 ::1 5000 80\r\n';
  t.is(await reply(await port('real'), { from: '127.0.0.2', bytes: spelled }), '2001:db8::1:5000 127.0.0.2');
  t.regex(await reply(await port('real'), { from: '127.0.0.3', bytes: HEADER }), /^127\.0\.0\.3:\d+ 127\.0\.0\.3$/);
  t.regex(await reply(await port('real'), { from: '127.0.0.2', bytes: 'PROXY UNKNOWN\r\n' }), /^127\.0\.0\.2:\d+ 127\.0\.0\.2$/);
});

test('access rules look at the address that was told', async (t) => {
  t.is(await reply(await port('real'), { from: '127.0.0.2', bytes: HEADER.replace('192.0.2.7', '192.0.2.1') }), '');
  await (await site()).waitForLog(/access forbidden by rule, client: 192\.0\.2\.1, /);
});

rejects([
  ['server { listen %%PORT_a%%; allow x; return x; }', /invalid parameter "x"/],
  ['limit_conn_zone $remote_addr zone=a:1k;', /zone "zone=a:1k" is too small/],
  ['limit_conn_zone $remote_addr;', /invalid number of arguments in "limit_conn_zone" directive/],
  ['limit_conn_zone $uri zone=b:1m;', /unknown "uri" variable/],
  ['server { listen %%PORT_b%%; limit_conn a 0; return x; }', /invalid number of connections "0"/],
  ['server { listen %%PORT_b%%; limit_conn a 65536; return x; }', /connection limit must be less 65536/],
  ['set_real_ip_from no:name;', /host not found in set_real_ip_from "no:name"/],
  ['real_ip_header X-Real-IP;', /"real_ip_header" directive is not allowed here/],
  ['limit_conn_status 503;', /"limit_conn_status" directive is not allowed here/],
]);

rejects([
  ['server { listen %%PORT_a%%; limit_conn nope 1; return x; }', /zero size shared memory zone "nope"/],
  [
    'limit_conn_zone $remote_addr zone=a:1m; server { listen %%PORT_b%%; limit_conn a 1; limit_conn a 2; return x; }',
    /"limit_conn" directive is duplicate/,
  ],
]);
