/** Where connections go by what their clients say first: ssl_preread, and servers that pass connections on to others. */
import { connect as connectTls, createServer, type TLSSocket } from 'node:tls';
import { createSocket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, exchange, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { helloOf, inRecords } from './hellos.js';
import { rejects } from './rejected.js';
import { reply } from './reply.js';

/** A TLS server that says who it is and who it was asked for, and then what it is told. */
async function tlsBackend(scope: Scope, name: string): Promise<number> {
  const backend = createServer({ ...selfSigned(`${name}.example`), ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    socket.on('error', () => undefined);
    socket.write(`${name} for ${(socket as TLSSocket & { servername: string }).servername}:`);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  scope.teardown(() => backend.close());
  return (backend.address() as AddressInfo).port;
}

const site = shared(async (scope) => {
  const [a, b] = [await tlsBackend(scope, 'a'), await tlsBackend(scope, 'b')];
  const plain = await rawBackend(scope, (socket) => socket.on('data', (bytes) => socket.end(`plain:${bytes.toString('latin1')}`)));
  const { key, cert } = selfSigned('here.example');
  return startSrv(
    scope,
    `worker_processes 2; error_log logs/error.log info; events {}
    stream {
      map $ssl_preread_server_name $backend {
        hostnames;
        a.example 127.0.0.1:${a};
        *.b.example 127.0.0.1:${b};
        default 127.0.0.1:${plain.port};
      }
      log_format sni '$ssl_preread_server_name $status';
      server { listen 127.0.0.1:%%PORT_sni%%; ssl_preread on; proxy_pass $backend; access_log logs/sni.log sni; }
      server { listen 127.0.0.1:%%PORT_short%%; ssl_preread on; preread_buffer_size 100; proxy_pass $backend; }
      server { listen 127.0.0.1:%%PORT_said%%; ssl_preread on;
        return "[$ssl_preread_protocol][$ssl_preread_server_name][$ssl_preread_alpn_protocols]"; }
      server { listen 127.0.0.1:%%PORT_hasty%%; ssl_preread on; preread_timeout 500ms;
        return "[$ssl_preread_protocol][$ssl_preread_server_name][$ssl_preread_alpn_protocols]"; }
      server { listen 127.0.0.1:%%PORT_off%%; return "[$ssl_preread_protocol][$ssl_preread_server_name]"; }
      server { listen 127.0.0.1:%%PORT_named%%; ssl_preread on; return default; }
      server { listen 127.0.0.1:%%PORT_named%%; server_name b.example; return "b for $ssl_preread_server_name"; }
      server { listen 127.0.0.1:%%PORT_named%%; server_name *.c.example; deny all; return c; }
      map $ssl_preread_server_name $listener {
        here.example 127.0.0.1:%%PORT_https%%;
        web.example 127.0.0.1:%%PORT_http%%;
        there.example unix:%%PREFIX%%/there.sock;
        nowhere.example 127.0.0.1:1;
        strange.example strange.example:80;
        default 127.0.0.1:%%PORT_off%%;
      }
      server { listen 127.0.0.1:%%PORT_pass%%; ssl_preread on; pass $listener; }
      server { listen unix:%%PREFIX%%/there.sock; return "there"; }
      server { listen 127.0.0.1:%%PORT_to_http%%; pass 127.0.0.1:%%PORT_http%%; access_log logs/passed.log sni; }
      limit_conn_zone $remote_addr zone=clients:1m;
      server { listen 127.0.0.1:%%PORT_one%%; limit_conn clients 1; pass 127.0.0.1:%%PORT_http%%; }
      server { listen 127.0.0.1:%%PORT_told%% proxy_protocol; set_real_ip_from localhost; pass 127.0.0.1:%%PORT_http%%; }
      server { listen 127.0.0.1:%%PORT_datagrams%% udp; pass 127.0.0.1:%%PORT_http%%; }
      server { listen 127.0.0.1:%%PORT_to_any%%; pass 127.0.0.1:%%PORT_any%%; }
      server { listen %%PORT_any%%; return "any"; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; ssl_certificate here.crt; ssl_certificate_key here.key; pass 127.0.0.1:%%PORT_http%%; }
      server { listen 127.0.0.1:%%PORT_round%%; pass 127.0.0.1:%%PORT_round%%; }
    }
    http {
      server { listen 127.0.0.1:%%PORT_status%%; stub_status; }
      server { listen 127.0.0.1:%%PORT_http%%; return 200 "http $server_port $remote_addr $scheme $request_uri"; }
      server { listen 127.0.0.1:%%PORT_https%% ssl; ssl_certificate here.crt; ssl_certificate_key here.key; return 200 "https $server_port $scheme"; }
    }`,
    { files: { 'conf/here.crt': cert, 'conf/here.key': key } },
  );
});

const port = async (name: string): Promise<number> => (await site()).port(name);

/** What the server that a connection ends up at says first. */
function greeting(to: number, servername: string, options: { readonly ALPNProtocols?: string[] } = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: '127.0.0.1', port: to, servername, rejectUnauthorized: false, ...options });
    socket.setEncoding('latin1');
    socket.once('data', (text: string) => {
      resolve(text);
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

test('clients of different names reach different servers, which speak TLS with them', async (t) => {
  const to = await port('sni');
  t.is(await greeting(to, 'a.example'), 'a for a.example:');
  t.is(await greeting(to, 'x.b.example'), 'b for x.b.example:');
  t.is(await greeting(to, 'A.Example'), 'a for A.Example:');
});

test('a connection goes on after its hello', async (t) => {
  const socket = connectTls({ host: '127.0.0.1', port: await port('sni'), servername: 'a.example', rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  const sent = 'x'.repeat(100_000);
  let received = '';
  const echoed = new Promise<void>((resolve) => {
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString('latin1');
      if (received.endsWith(sent)) resolve();
    });
  });
  socket.write(sent);
  await echoed;
  t.is(received, `a for a.example:${sent}`);
});

test('what is no TLS takes the default, with all that was read', async (t) => {
  t.is(await exchange(t, await port('sni'), 'GET / HTTP/1.1\r\n'), 'plain:GET / HTTP/1.1\r\n');
  t.is(await exchange(t, await port('sni'), '\x16\x03\x01\x00\x05hello'), 'plain:\x16\x03\x01\x00\x05hello');
});

test('the access log has the name', async (t) => {
  await greeting(await port('sni'), 'logged.b.example');
  await (await site()).waitForLog(/^logged\.b\.example 200$/m, 'logs/sni.log');
  t.pass();
});

const hello = (): Promise<Buffer> => helloOf({ servername: 'a.example', ALPNProtocols: ['h2', 'http/1.1'] });

test('the variables of a hello', async (t) => {
  t.is(await reply(await port('said'), { bytes: await hello() }), '[TLSv1.3][a.example][h2,http/1.1]');
  const old = await helloOf({ servername: 'A.example', maxVersion: 'TLSv1.2' });
  t.is(await reply(await port('said'), { bytes: old }), '[TLSv1.2][A.example][]');
});

test('a hello byte by byte, and in records of a few bytes', async (t) => {
  const bytes = await hello();
  t.is(await reply(await port('said'), { bytes: inRecords(bytes, Math.ceil(bytes.length / 400)) }), '[TLSv1.3][a.example][h2,http/1.1]');
  const connection = await connectRaw(t, await port('said'));
  for (const byte of bytes) {
    connection.socket.write(Buffer.from([byte]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.is(await connection.receiveAll(), '[TLSv1.3][a.example][h2,http/1.1]');
});

test('ssl_preread chooses among the servers of an address; what comes before it was decided by the default server', async (t) => {
  const to = await port('named');
  const ask = async (servername: string): Promise<string> => reply(to, { bytes: await helloOf({ servername }) });
  t.is(await ask('B.example'), 'b for B.example');
  t.is(await ask('x.c.example'), 'c');
  t.is(await ask('d.example'), 'default');
  t.is(await reply(to, { bytes: 'SSH-2.0-x\r\n' }), 'default');
});

test('a malformed hello says nothing', async (t) => {
  const bytes = await hello();
  const name = bytes.indexOf('a.example');
  bytes[name - 1] = 200;
  t.is(await reply(await port('said'), { bytes }), '[][][]');
  t.is(await reply(await port('said'), { bytes: 'SSH-2.0-x\r\n' }), '[][][]');
});

test('any bytes in front of a real hello, and a hello with bytes changed, end a connection at most', async (t) => {
  const [to, real] = [await port('hasty'), await hello()];
  const damaged = Array.from({ length: 60 }, (_, i) => {
    const bytes = Buffer.from(real);
    for (let changes = 0; changes <= i % 5; changes++) bytes[(i * 37 + changes * 101) % real.length] = (i * 59 + changes) % 256;
    return i % 3 === 0 ? Buffer.concat([bytes.subarray(i, i + 12), real]) : bytes;
  });
  const replies = await Promise.all(damaged.map((bytes) => reply(to, { bytes })));
  for (const text of replies) t.regex(text, /^(?:\[.*\]\[[^]*\]\[[^]*\])?$/);
  t.is(await reply(await port('said'), { bytes: real }), '[TLSv1.3][a.example][h2,http/1.1]');
});

test('without ssl_preread nobody looks', async (t) => {
  t.is(await reply(await port('off'), { bytes: await hello() }), '[][]');
});

test('a hello that does not fit into preread_buffer_size ends the connection', async (t) => {
  t.is(await reply(await port('short'), { bytes: await hello() }), '');
  await (await site()).waitForLog(/preread buffer full, client: 127\.0\.0\.1, server: 127\.0\.0\.1:\d+/);
});

test('a client that says nothing is cut off after preread_timeout', async (t) => {
  t.is(await reply(await port('hasty')), '');
});

test('pass: to a server of http, which sees the client', async (t) => {
  const response = await get(await port('to_http'), '/path?x');
  t.is(response.body, `http ${await port('http')} 127.0.0.1 http /path?x`);
  const srv = await site();
  await srv.waitForLog(/"GET \/path\?x HTTP\/1\.1" 200/, 'logs/access.log');
  t.is(srv.read('logs/passed.log'), '', 'the access log of http has it');
});

test('pass: with what was read before, to servers by name', async (t) => {
  const to = await port('pass');
  const request = 'GET / HTTP/1.0\r\n\r\n';
  const https = connectTls({ host: '127.0.0.1', port: to, servername: 'here.example', rejectUnauthorized: false });
  t.teardown(() => https.destroy());
  https.write(request);
  let received = '';
  for await (const bytes of https.setEncoding('latin1')) received += String(bytes);
  t.regex(received, new RegExp(`\\r\\n\\r\\nhttps ${await port('https')} https$`));
  t.is(await reply(to, { bytes: await helloOf({ servername: 'there.example' }) }), 'there');
  t.regex(await reply(to, { bytes: await helloOf({ servername: 'web.example' }) }), /^HTTP\/1\.1 400 /);
  t.is(await reply(to, { bytes: 'SSH-2.0-x\r\n' }), '[][]');
});

test('pass: the address that a proxy has told goes along', async (t) => {
  const response = await exchange(t, await port('told'), 'PROXY TCP4 192.0.2.7 203.0.113.1 5000 80\r\nGET /x HTTP/1.0\r\n\r\n');
  t.regex(response, /http \d+ 192\.0\.2\.7 http \/x$/);
});

test('pass: what limit_conn counts is counted until the connection is closed, and connections are counted once', async (t) => {
  const to = await port('one');
  const first = await connectRaw(t, to);
  for (const path of ['/1', '/2']) {
    first.send(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await first.receive(new RegExp(`http ${path}$`));
  }
  t.is(await reply(to, { bytes: 'GET / HTTP/1.0\r\n\r\n' }), '');
  first.socket.destroy();
  const isServed = async (): Promise<boolean> => (await reply(to, { bytes: 'GET / HTTP/1.0\r\n\r\n' })).startsWith('HTTP/1.1 200');
  await waitFor('the end of the first connection', isServed);
  const status = await port('status');
  await waitFor('the end of all others', async () => (await get(status, '/')).body.startsWith('Active connections: 1 \n'));
  t.pass();
});

test('pass: datagrams cannot be passed', async (t) => {
  const client = createSocket('udp4');
  t.teardown(() => client.close());
  client.send('x', await port('datagrams'), '127.0.0.1');
  await (await site()).waitForLog(/cannot pass udp connection, udp client: 127\.0\.0\.1/);
  t.pass();
});

test('pass: after TLS, in the clear', async (t) => {
  const to = await port('tls');
  const socket = connectTls({ host: '127.0.0.1', port: to, rejectUnauthorized: false });
  t.teardown(() => socket.destroy());
  socket.write('GET /inner HTTP/1.0\r\n\r\n');
  let received = '';
  for await (const bytes of socket.setEncoding('latin1')) received += String(bytes);
  t.regex(received, new RegExp(`\\r\\n\\r\\nhttp ${await port('http')} 127\\.0\\.0\\.1 https /inner$`));
});

test('pass: a server that listens on all addresses', async (t) => {
  t.is(await reply(await port('to_any')), 'any');
});

test('pass: to nowhere, in a circle, to a name', async (t) => {
  const to = await port('pass');
  t.is(await reply(to, { bytes: await helloOf({ servername: 'nowhere.example' }) }), '');
  await (await site()).waitForLog(/port not found for "127\.0\.0\.1:1", client: 127\.0\.0\.1/);
  t.is(await reply(await port('round')), '');
  await (await site()).waitForLog(/stream pass cycle, client: 127\.0\.0\.1/);
  t.is(await reply(to, { bytes: await helloOf({ servername: 'strange.example' }) }), '');
  await (await site()).waitForLog(/no addresses in pass "strange\.example:80"/);
});

rejects([
  ['server { listen %%PORT_a%%; pass 127.0.0.1; }', /"pass" directive has no port/],
  ['server { listen %%PORT_a%%; pass 8000; }', /"pass" directive has no addresses/],
  ['server { listen %%PORT_a%%; pass a.example:80; }', /"pass" directive has no addresses/],
  ['server { listen %%PORT_a%%; pass 127.0.0.1:99999; }', /invalid port in "127\.0\.0\.1:99999" of the "pass" directive/],
  ['server { listen %%PORT_a%%; pass unix:; }', /no path in the unix domain socket in "unix:" of the "pass" directive/],
  ['server { listen %%PORT_a%%; pass 127.0.0.1:1; pass 127.0.0.1:2; }', /"pass" directive is duplicate/],
  ['server { listen %%PORT_a%%; pass $uri; }', /unknown "uri" variable/],
  ['server { listen %%PORT_a%%; ssl_preread yes; return x; }', /invalid value "yes" in "ssl_preread" directive, it must be "on" or "off"/],
]);

rejects([['server { listen %%PORT_a%%; pass 127.0.0.1:1; return x; }', /conflicting content handlers/]]);
