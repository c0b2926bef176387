/** TLS of streams on either side, server names, certificates of clients, the PROXY protocol. */
import { getDiffieHellman, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { duplexPair } from 'node:stream';
import { connect as connectTls, createServer as createTlsServer, type TLSSocket } from 'node:tls';
import { connect, type AddressInfo } from 'node:net';
import test from 'ava';
import { rawBackend } from '../harness/backends.js';
import { certificateFor, selfSigned } from '../harness/certificate.js';
import { connectRaw, connectRawTls, exchange } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const own = selfSigned('a.example', 'b.example');
const authority = selfSigned('authority');
const member = selfSigned('member.example');
const rsa = certificateFor(['rsa.example'], { kind: 'rsa' });

/** The parameters of group 14 (RFC 3526, 3) in PEM. */
function diffieHellman(): string {
  const prime = Buffer.concat([Buffer.of(0x02, 0x82, 0x01, 0x01, 0x00), getDiffieHellman('modp14').getPrime()]);
  const body = Buffer.concat([prime, Buffer.of(0x02, 0x01, 0x02)]);
  const der = Buffer.concat([Buffer.of(0x30, 0x82, body.length >> 8, body.length & 255), body]);
  return `-----BEGIN DH PARAMETERS-----\n${der.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END DH PARAMETERS-----\n`;
}

/** A member that speaks TLS and says what name it was asked for. */
async function tlsBackend(t: Scope): Promise<number> {
  const server = createTlsServer({ key: member.key, cert: member.cert }, (socket: TLSSocket) => {
    socket.on('error', () => undefined);
    socket.once('data', (chunk) => socket.end(`${String(socket.servername)} ${String(chunk)}`));
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function startSite(t: Scope): Promise<Srv> {
  const echo = await rawBackend(t, (socket) => void socket.pipe(socket));
  const first = await rawBackend(t, (socket) => void socket.once('data', (chunk) => socket.end(`got ${chunk.toString('latin1')}`)));
  const secure = await tlsBackend(t);
  const silent = await rawBackend(t, () => undefined);
  return startSrv(
    t,
    `events { }
    error_log logs/error.log info;
    stream {
      log_format session '$server_port $status $ssl_protocol [$ssl_server_name] $ssl_session_reused $ssl_client_verify $proxy_protocol_addr:$proxy_protocol_port';
      log_format figures '$server_port $bytes_received $upstream_bytes_sent';
      access_log logs/access.log session;
      access_log logs/figures.log figures;
      ssl_certificate own.pem;
      ssl_certificate_key own.key;
      server { listen 127.0.0.1:%%PORT_tls%% ssl; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_named%% ssl; server_name a.example; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_named%% ssl; server_name b.example; proxy_pass 127.0.0.1:${first.port}; }
      server { listen 127.0.0.1:%%PORT_alpn%% ssl; ssl_alpn one two; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_verified%% ssl; ssl_verify_client on; ssl_client_certificate authority.pem; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_dhe%% ssl; ssl_certificate rsa.pem; ssl_certificate_key rsa.key; ssl_dhparam dh.pem; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_trusting%% ssl; ssl_verify_client on; ssl_client_certificate authority.pem; ssl_trusted_certificate own.pem; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_patient%% ssl; ssl_handshake_timeout 200ms; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_in%% proxy_protocol; proxy_timeout 5s; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_both%% proxy_protocol ssl; proxy_pass 127.0.0.1:${echo.port}; }
      server { listen 127.0.0.1:%%PORT_out%%; proxy_protocol on; proxy_pass 127.0.0.1:${first.port}; }
      server { listen 127.0.0.1:%%PORT_secure%%; proxy_ssl on; proxy_ssl_server_name on; proxy_ssl_name member.example:443; proxy_ssl_verify on; proxy_ssl_trusted_certificate member.pem; proxy_pass 127.0.0.1:${secure}; }
      server { listen 127.0.0.1:%%PORT_unverified%%; proxy_ssl on; proxy_ssl_verify on; proxy_ssl_trusted_certificate own.pem; proxy_pass 127.0.0.1:${secure}; }
      server { listen 127.0.0.1:%%PORT_hangs%%; proxy_ssl on; proxy_connect_timeout 300ms; proxy_pass 127.0.0.1:${silent.port}; }
      server { listen 127.0.0.1:%%PORT_told%%; proxy_ssl on; proxy_protocol on; proxy_pass 127.0.0.1:%%PORT_both%%; }
    }`,
    {
      files: {
        'conf/own.pem': own.cert,
        'conf/own.key': own.key,
        'conf/authority.pem': authority.cert,
        'conf/member.pem': member.cert,
        'conf/rsa.pem': rsa.cert,
        'conf/rsa.key': rsa.key,
        'conf/dh.pem': diffieHellman(),
      },
    },
  );
}

const site = shared(startSite);

const logged = (srv: Srv, port: string, rest: string): Promise<RegExpExecArray> =>
  srv.waitForLog(new RegExp(`^${srv.port(port)} ${rest}$`, 'm'), 'logs/access.log');

/** Waits for a session with these figures: bytes of the client, and those sent to the member. */
async function counted(srv: Srv, port: string, received: number, sent: number): Promise<void> {
  await srv.waitForLog(new RegExp(`^${srv.port(port)} ${received} ${sent}$`, 'm'), 'logs/figures.log');
}

test('clients may speak TLS', async (t) => {
  const srv = await site();
  const connection = await connectRawTls(t, srv.port('tls'));
  const text = 'secret '.repeat(20_000);
  connection.send(text);
  await connection.receive(/(?:secret ){20000}/);
  connection.socket.end();
  await connection.receiveAll();
  await logged(srv, 'tls', '200 TLSv1\\.3 \\[-\\] \\. NONE -:-');
  t.is(connection.received, text);
});

test('the rest of a handshake that comes when the session is over changes nothing', async (t) => {
  const srv = await site();
  const held: Buffer[] = [];
  const server = connect(srv.port('patient'), '127.0.0.1');
  const sent = duplexPair();
  const client = connectTls({ socket: sent[0], rejectUnauthorized: false });
  t.teardown(() => void server.destroy());
  t.teardown(() => void client.destroy());
  for (const socket of [server, client]) socket.on('error', () => undefined);
  // The first message, and nothing else.
  sent[1].once('data', (hello: Buffer) => {
    server.write(hello);
    sent[1].on('data', (rest: Buffer) => held.push(rest));
  });
  server.on('data', (bytes: Buffer) => sent[1].write(bytes));
  await srv.waitForLog(/client timed out .* while SSL handshaking/);
  await waitFor('the second message', () => held.length > 0);
  for (const rest of held) server.write(rest);
  server.end();
  await waitFor('the end', () => server.closed || server.readableEnded || server.destroyed);
  const next = await connectRawTls(t, srv.port('tls'));
  next.send('still there');
  await next.receive(/still there/);
  t.notRegex(srv.log(), /uncaught|TypeError|exited/);
});

test('the server is chosen by the name that the client asks for', async (t) => {
  const srv = await site();
  const one = await connectRawTls(t, srv.port('named'), { servername: 'A.example' });
  one.send('hello');
  await one.receive(/^hello$/);
  const other = await connectRawTls(t, srv.port('named'), { servername: 'b.example' });
  other.send('hello');
  t.is(await other.receiveAll(), 'got hello');
  await logged(srv, 'named', '200 TLSv1\\.3 \\[b\\.example\\] \\. NONE -:-');
});

test('a protocol is chosen by ALPN', async (t) => {
  const srv = await site();
  const connection = await connectRawTls(t, srv.port('alpn'), { ALPNProtocols: ['two', 'three'] });
  t.is((connection.socket as TLSSocket).alpnProtocol, 'two');
  await t.throwsAsync(connectRawTls(t, srv.port('alpn'), { ALPNProtocols: ['three'] }));
});

test('a client without the certificate that is wanted gets nothing', async (t) => {
  const srv = await site();
  const accepted = await connectRawTls(t, srv.port('verified'), { key: authority.key, cert: authority.cert });
  accepted.send('hello');
  await accepted.receive(/^hello$/);
  accepted.socket.end();
  await logged(srv, 'verified', '200 TLSv1\\.3 \\[-\\] \\. SUCCESS -:-');
  const missing = await connectRawTls(t, srv.port('verified'));
  missing.send('hello');
  t.is(await missing.receiveAll(), '');
  await logged(srv, 'verified', '500 TLSv1\\.3 \\[-\\] \\. NONE -:-');
  const bad = await connectRawTls(t, srv.port('verified'), { key: own.key, cert: own.cert });
  bad.send('hello');
  t.is(await bad.receiveAll(), '');
  await srv.waitForLog(
    /\[info\] .* client SSL certificate verify error: \(self-signed certificate\), client: 127\.0\.0\.1, server: 127\.0\.0\.1:\d+/,
  );
  await logged(srv, 'verified', '500 TLSv1\\.3 \\[-\\] \\. FAILED:self-signed certificate -:-');
  await srv.waitForLog(/\[info\] .* client sent no required SSL certificate, client: 127\.0\.0\.1/);
});

test('ssl_dhparam allows DHE', async (t) => {
  const srv = await site();
  const options = { maxVersion: 'TLSv1.2', ciphers: 'DHE-RSA-AES128-GCM-SHA256' } as const;
  const connection = await connectRawTls(t, srv.port('dhe'), options);
  t.like((connection.socket as TLSSocket).getEphemeralKeyInfo(), { type: 'DH', size: 2048 });
});

test('ssl_trusted_certificate trusts further authorities of clients, which are not told of them', async (t) => {
  const srv = await site();
  for (const client of [authority, own]) {
    const connection = await connectRawTls(t, srv.port('trusting'), { key: client.key, cert: client.cert });
    connection.send('hello');
    await connection.receive(/^hello$/);
  }
  const [told, others] = await Promise.all(['trusting', 'verified'].map((name) => plainHandshake(srv.port(name))));
  t.true(told?.includes('authority'));
  t.is(told?.split('a.example').length, others?.split('a.example').length, 'in the certificate of the server alone');
});

/** What a server sends in TLS 1.2, where certificates and the request for one are not encrypted. */
function plainHandshake(port: number): Promise<string> {
  return new Promise((done) => {
    const [near, far] = duplexPair();
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk) => (text += chunk.toString('latin1')));
    socket.on('close', () => done(text));
    far.pipe(socket).pipe(far);
    connectTls({ socket: near, maxVersion: 'TLSv1.2', rejectUnauthorized: false }, () => void socket.destroy());
  });
}

test('a handshake that fails or takes too long ends the session with 500', async (t) => {
  const srv = await site();
  t.is(await exchange(t, srv.port('tls'), 'GET / HTTP/1.0\r\n\r\n'), '');
  await logged(srv, 'tls', '500 - \\[-\\] - - -:-');
  const silent = await connectRaw(t, srv.port('patient'));
  t.is(await silent.receiveAll(), '');
  await logged(srv, 'patient', '500 - \\[-\\] - - -:-');
  await srv.waitForLog(/client timed out \(110: Connection timed out\) while SSL handshaking, client: 127\.0\.0\.1/);
});

test('the PROXY protocol tells of the client, also in front of TLS', async (t) => {
  const srv = await site();
  const connection = await connectRaw(t, srv.port('in'));
  connection.send('PROXY TCP4 192.0.2.1 203.0.113.7 5000 80\r\nhello');
  await connection.receive(/^hello$/);
  connection.socket.end();
  await logged(srv, 'in', '200 - \\[-\\] - - 192\\.0\\.2\\.1:5000');
  t.is(await exchange(t, srv.port('in'), 'nonsense\r\n'), '');
  await logged(srv, 'in', '400 - \\[-\\] - - -:-');
  await srv.waitForLog(/broken header: "nonsense\.\." while reading PROXY protocol, client: 127\.0\.0\.1/);
});

test('members are told of the client by the PROXY protocol', async (t) => {
  const srv = await site();
  const connection = await connectRaw(t, srv.port('out'));
  const { localPort } = connection.socket;
  connection.send('hello');
  const told = await connection.receiveAll();
  const header = `PROXY TCP4 127.0.0.1 127.0.0.1 ${localPort} ${srv.port('out')}\r\n`;
  t.true(told.startsWith(`got ${header}`), told);
  await counted(srv, 'out', 5, header.length + 5);
});

test('members may speak TLS, and their certificates are verified', async (t) => {
  const srv = await site();
  const connection = await connectRaw(t, srv.port('secure'));
  connection.send('hello');
  t.is(await connection.receiveAll(), 'member.example hello');
  t.is(await exchange(t, srv.port('unverified'), 'hello'), '');
  await srv.waitForLog(
    /\[error\] .* upstream SSL certificate verify error: \(18:self-signed certificate\) while SSL handshaking to upstream, client: 127\.0\.0\.1/,
  );
});

test('the header of the PROXY protocol comes before the handshake with a member', async (t) => {
  const srv = await site();
  const connection = await connectRaw(t, srv.port('told'));
  connection.send('hello');
  await connection.receive(/^hello$/);
  const { localPort } = connection.socket;
  connection.socket.end();
  await logged(srv, 'both', `200 TLSv1\\.3 \\[-\\] [.r] NONE 127\\.0\\.0\\.1:${localPort}`);
  // Neither side counts the handshake; the header counts where it was sent.
  const header = `PROXY TCP4 127.0.0.1 127.0.0.1 ${localPort} ${srv.port('told')}\r\n`;
  await counted(srv, 'told', 5, header.length + 5);
  await counted(srv, 'both', 5, 5);
  t.pass();
});

test('a ClientHello in the packet of the PROXY header is no content', async (t) => {
  const srv = await site();
  const [ours, theirs] = duplexPair();
  const raw = connect(srv.port('both'), '127.0.0.1');
  t.teardown(() => raw.destroy());
  // The client's first bytes are those of its hello.
  theirs.once('data', (hello: Buffer) => {
    raw.write(Buffer.concat([Buffer.from('PROXY TCP4 192.0.2.9 203.0.113.7 5000 80\r\n'), hello]));
    theirs.pipe(raw).pipe(theirs);
  });
  const secure = connectTls({ socket: ours, rejectUnauthorized: false });
  secure.write('hi!');
  const [echoed] = (await once(secure, 'data')) as [Buffer];
  t.is(echoed.toString(), 'hi!');
  secure.end();
  await counted(srv, 'both', 3, 3);
});

test('a member that does not answer the handshake is given up after proxy_connect_timeout', async (t) => {
  const srv = await site();
  t.is(await exchange(t, srv.port('hangs'), ''), '');
  await logged(srv, 'hangs', '502 - \\[-\\] - - -:-');
  await srv.waitForLog(/upstream timed out \(110: Connection timed out\) while SSL handshaking to upstream, client: 127\.0\.0\.1/);
});

test('bytes that are no header, and no handshake, end their session alone', async (t) => {
  const srv = await site();
  const starts = ['', 'PROXY TCP4 ', '\r\n\r\n\0\r\nQUIT\n', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', '\x80\x2e\x01'];
  await Promise.all(
    ['in', 'both', 'tls', 'verified'].flatMap((port) =>
      starts.map(async (start) => {
        const connection = await connectRaw(t, srv.port(port));
        connection.send(start + randomBytes(6000).toString('latin1'));
        connection.socket.end();
        await connection.receiveAll();
      }),
    ),
  );
  const connection = await connectRawTls(t, srv.port('tls'));
  connection.send('hello');
  await connection.receive(/^hello$/);
  t.notRegex(srv.log(), /\[(?:alert|crit|emerg)\]/);
});
