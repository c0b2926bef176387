import test from 'ava';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw } from '../harness/client.js';
import { startSrv } from '../harness/srv.js';
import { connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { proxyHeader2, tlv } from '../net/proxy-header-bytes.js';

const ADDRESSES = '$remote_addr $proxy_protocol_addr:$proxy_protocol_port > $proxy_protocol_server_addr:$proxy_protocol_server_port';
const GET = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const V1 = 'PROXY TCP4 192.0.2.1 203.0.113.7 5000 80\r\n';

const body = (response: string): string => response.split('\r\n\r\n')[1] ?? response;

test('the addresses that a proxy in front tells', async (t) => {
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_web%% proxy_protocol;
      location / { return 200 "${ADDRESSES} [$proxy_protocol_tlv_authority] [$proxy_protocol_tlv_ssl_cn] [$proxy_protocol_tlv_0xe1]"; } } }`,
  );
  const ask = async (...pieces: string[]): Promise<string> => {
    const client = await connectRaw(t, srv.port('web'));
    for (const piece of pieces) client.send(piece);
    return body(await client.receiveAll());
  };
  t.is(await ask(`${V1}${GET}`), '127.0.0.1 192.0.2.1:5000 > 203.0.113.7:80 [] [] []');
  t.is(await ask(...(V1 + GET).split('')), '127.0.0.1 192.0.2.1:5000 > 203.0.113.7:80 [] [] []', 'byte by byte');
  t.is(await ask(`PROXY UNKNOWN\r\n${GET}`), '127.0.0.1 : > : [] [] []');
  const tlvs = Buffer.concat([tlv(2, 'h.example'), tlv(0x20, Buffer.concat([Buffer.alloc(5), tlv(0x22, 'someone')])), tlv(0xe1, 'own')]);
  const v2 = proxyHeader2({ from: '2001:db8::5', to: '2001:db8::6', ports: [7, 8], tlvs }).latin1Slice();
  t.is(await ask(v2, GET), '127.0.0.1 2001:db8::5:7 > 2001:db8::6:8 [h.example] [someone] [own]');
  t.is(await ask(proxyHeader2({ command: 0 }).latin1Slice() + GET), '127.0.0.1 : > : [] [] []', 'the proxy itself');
});

test('a connection without a header is closed and logged', async (t) => {
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {} http { client_header_timeout 1s; server { listen 127.0.0.1:%%PORT_web%% proxy_protocol; location / { return 200 never; } } }`,
  );
  const ask = async (bytes: string): Promise<string> => {
    const client = await connectRaw(t, srv.port('web'));
    client.send(bytes);
    return client.receiveAll();
  };
  t.is(await ask(GET), '');
  await srv.waitForLog(/\[error\].* broken header: "GET \/ HTTP\/1\.1.*" while reading PROXY protocol, client: 127\.0\.0\.1, server: 127/);
  t.is(await ask(`PROXY TCP4 192.0.2.1${GET}`), '');
  t.is(await ask('PROXY TCP4 192'), '', 'closed after client_header_timeout');
  await srv.waitForLog(/\[info\].* client timed out .* while reading PROXY protocol, client: 127\.0\.0\.1/);
  const gone = await connectRaw(t, srv.port('web'));
  gone.send('PROXY ');
  gone.socket.end();
  t.is(await gone.receiveAll(), '');
  await srv.waitForLog(/\[info\].* client closed connection while reading PROXY protocol/);
});

test('the header comes before the handshake of TLS', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_tls%% ssl proxy_protocol; ssl_certificate a.pem; ssl_certificate_key a.key;
      location / { return 200 "$scheme ${ADDRESSES}"; } } }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  );
  const raw = connect(srv.port('tls'), '127.0.0.1');
  t.teardown(() => raw.destroy());
  raw.write(V1);
  const tls = connectTls({ socket: raw, rejectUnauthorized: false });
  tls.write(GET);
  let received = '';
  for await (const chunk of tls) received += String(chunk);
  t.is(body(received), 'https 127.0.0.1 192.0.2.1:5000 > 203.0.113.7:80');
});

const configuration = (parameter: string): string =>
  `error_log logs/error.log notice; events {} http { server { listen 127.0.0.1:%%PORT_web%% ${parameter}; location / { return 200 "[$proxy_protocol_addr]"; } } }`;

test('a reload puts the PROXY protocol in front of an address, and takes it away', async (t) => {
  const srv = await startSrv(t, configuration(''));
  const ask = async (bytes: string): Promise<string> => {
    const client = await connectRaw(t, srv.port('web'));
    client.send(bytes);
    return body(await client.receiveAll());
  };
  t.is(await ask(GET), '[]');
  await srv.configure(configuration('proxy_protocol'));
  srv.signal('SIGHUP');
  await srv.waitForLog(/ reconfigured$/m);
  t.is(await ask(V1 + GET), '[192.0.2.1]');
});
