import test, { type ExecutionContext } from 'ava';
import { connectRaw } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';

const SHOWN = '$remote_addr:$remote_port < $realip_remote_addr';

async function ask(
  t: ExecutionContext,
  srv: Srv,
  name: string,
  path: string,
  fields: readonly string[] = [],
  before = '',
): Promise<string> {
  const client = await connectRaw(t, srv.port(name));
  const lines = [`GET ${path} HTTP/1.1`, 'Host: a', 'Connection: close', ...fields];
  client.send(`${before}${lines.join('\r\n')}\r\n\r\n`);
  const [head = '', body = ''] = (await client.receiveAll()).split('\r\n\r\n');
  return head.includes(' 200 ') ? body : (head.split(' ')[1] ?? head);
}

test('the client is who a trusted proxy says', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http {
      server { listen 127.0.0.1:%%PORT_real%%; set_real_ip_from 127.0.0.0/8; return 200 "${SHOWN}"; }
      server { listen 127.0.0.1:%%PORT_last%%; set_real_ip_from 127.0.0.1; set_real_ip_from 10.0.0.0/8; real_ip_header X-Forwarded-For; return 200 "${SHOWN}"; }
      server { listen 127.0.0.1:%%PORT_recursive%%; set_real_ip_from 127.0.0.1; set_real_ip_from 10.0.0.0/8; set_real_ip_from 2001:db8::/32;
        real_ip_header X-Forwarded-For; real_ip_recursive on; return 200 "${SHOWN}"; }
      server { listen 127.0.0.1:%%PORT_distrusted%%; set_real_ip_from 10.0.0.0/8; return 200 "$remote_addr < $realip_remote_addr"; }
      server { listen 127.0.0.1:%%PORT_named%%; set_real_ip_from localhost; return 200 "${SHOWN}"; }
    }`,
  );
  const shown = (name: string, ...fields: string[]): Promise<string> => ask(t, srv, name, '/', fields);
  t.is(await shown('real', 'X-Real-IP: 192.0.2.1'), '192.0.2.1: < 127.0.0.1');
  t.is(await shown('real', 'X-Real-IP: 192.0.2.1:5000'), '192.0.2.1:5000 < 127.0.0.1');
  t.is(await shown('real', 'X-Real-IP: [2001:DB8:0::1]:80'), '2001:db8::1:80 < 127.0.0.1');
  t.regex(await shown('real'), /^127\.0\.0\.1:\d+ < 127\.0\.0\.1$/);
  t.regex(await shown('real', 'X-Real-IP: nonsense'), /^127\.0\.0\.1:\d+ </);
  t.regex(await shown('real', 'X-Real-IP: 192.0.2.1:70000'), /^127\.0\.0\.1:\d+ </);
  t.is(await shown('distrusted', 'X-Real-IP: 192.0.2.1'), '127.0.0.1 < 127.0.0.1');
  t.is(await shown('named', 'X-Real-IP: 192.0.2.1'), '192.0.2.1: < 127.0.0.1');

  t.is(await shown('last', 'X-Forwarded-For: 192.0.2.1, 10.1.1.1'), '10.1.1.1: < 127.0.0.1');
  t.is(await shown('last', 'X-Forwarded-For: 192.0.2.1', 'X-Forwarded-For: 10.1.1.1 ,'), '10.1.1.1: < 127.0.0.1');

  t.is(await shown('recursive', 'X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.1.1.1, 2001:db8::5'), '192.0.2.1: < 127.0.0.1');
  t.is(await shown('recursive', 'X-Forwarded-For: 6.6.6.6, 192.0.2.1', 'X-Forwarded-For: 10.1.1.1'), '192.0.2.1: < 127.0.0.1');
  t.is(await shown('recursive', 'X-Forwarded-For: 10.2.2.2, 10.1.1.1'), '10.2.2.2: < 127.0.0.1', 'all are trusted: the first one');
  t.is(
    await shown('recursive', 'X-Forwarded-For: 192.0.2.1, nonsense, 10.1.1.1'),
    '10.1.1.1: < 127.0.0.1',
    'the last one that is an address',
  );
});

test('by PROXY protocol', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%% proxy_protocol; set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol;
      return 200 "${SHOWN} $proxy_protocol_addr"; } }`,
  );
  t.is(await ask(t, srv, 'web', '/', [], 'PROXY TCP4 192.0.2.1 203.0.113.7 5000 80\r\n'), '192.0.2.1:5000 < 127.0.0.1 192.0.2.1');
  const spelled = 'PROXY TCP6 2001:0DB8:0:0::1 ::1 5000 80\r\n';
  t.is(await ask(t, srv, 'web', '/', [], spelled), '2001:db8::1:5000 < 127.0.0.1 2001:0DB8:0:0::1');
  t.regex(await ask(t, srv, 'web', '/', [], 'PROXY UNKNOWN\r\n'), /^127\.0\.0\.1:\d+ < 127\.0\.0\.1 $/);
});

test('access rules and logs go by the address; each request of a connection has its own', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {} http { log_format who '$remote_addr $realip_remote_addr $status'; server { listen 127.0.0.1:%%PORT_web%%; access_log logs/who.log who;
      set_real_ip_from 127.0.0.1;
      location /pass { allow 192.0.2.0/24; deny all; proxy_pass http://127.0.0.1:%%PORT_web%%/shown; proxy_set_header X-Real-IP ""; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }
      location /shown { return 200 "$http_x_forwarded_for"; }
    } }`,
  );
  const client = await connectRaw(t, srv.port('web'));
  for (const address of ['192.0.2.1', '198.51.100.1', '']) client.send(`GET /pass HTTP/1.1\r\nHost: a\r\nX-Real-IP: ${address}\r\n\r\n`);
  await client.receive(/ 200 [^]* 403 [^]* 403 [^]*<\/html>/);
  t.regex(client.received, /\r\n\r\n192\.0\.2\.1HTTP/);
  await srv.waitForLog(/\[error\].* access forbidden by rule, client: 198\.51\.100\.1, server:/);
  await srv.waitForLog(/127\.0\.0\.1 127\.0\.0\.1 403/, 'logs/who.log');
  t.true(srv.read('logs/who.log').includes('198.51.100.1 127.0.0.1 403\n'));
});

test('in a location, before limits and access rules', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%%;
      location /in { set_real_ip_from 127.0.0.1; real_ip_header X-Client; allow 192.0.2.1; deny all; proxy_pass http://127.0.0.1:%%PORT_web%%/shown?$remote_addr; }
      location /out { proxy_pass http://127.0.0.1:%%PORT_web%%/shown?$remote_addr; }
      location /shown { return 200 $args; } } }`,
  );
  t.is(await ask(t, srv, 'web', '/in', ['X-Client: 192.0.2.1']), '192.0.2.1');
  t.is(await ask(t, srv, 'web', '/in', ['X-Client: 192.0.2.2']), '403');
  t.is(await ask(t, srv, 'web', '/out', ['X-Client: 192.0.2.1', 'X-Real-IP: 192.0.2.1']), '127.0.0.1');
});

test('over a unix socket', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http {
      server { listen unix:%%PREFIX%%/web.sock; set_real_ip_from unix:; return 200 "$remote_addr < $realip_remote_addr"; }
      server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass http://unix:%%PREFIX%%/web.sock:; proxy_set_header X-Real-IP 192.0.2.9; } } }`,
  );
  t.is(await ask(t, srv, 'web', '/'), '192.0.2.9 < unix:');
});
