import { writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { connect as connectTls, type PeerCertificate, type TLSSocket } from 'node:tls';
import test from 'ava';
import { httpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRaw, connectRawTls } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { patternDigest, patternStream, HashingSink } from './byte-streams.js';

function start(t: Scope, backend: number): Promise<Srv> {
  const a = selfSigned('a.example');
  const b = selfSigned('b.example');
  const wild = selfSigned('*.wild.example');
  return startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      server {
        listen 127.0.0.1:%%PORT_tls%% ssl;
        server_name a.example;
        ssl_certificate a.pem;
        ssl_certificate_key a.key;
        location / { return 200 "a $scheme $https $server_port"; }
        location = /agreed { return 200 "$ssl_protocol $ssl_cipher [$ssl_server_name] $ssl_session_reused [$ssl_alpn_protocol]"; }
        location /moved { return 301 /there; }
        location /proxied { proxy_pass http://127.0.0.1:${backend}; }
      }
      server {
        listen 127.0.0.1:%%PORT_tls%% ssl;
        server_name b.example;
        ssl_certificate b.pem;
        ssl_certificate_key b.key;
        return 200 "b $host";
      }
      server {
        listen 127.0.0.1:%%PORT_tls%% ssl;
        server_name *.wild.example;
        ssl_certificate wild.pem;
        ssl_certificate_key wild.key;
        return 200 wild;
      }
      server {
        listen 127.0.0.1:%%PORT_tls%% ssl;
        server_name bare.example;
        ssl_verify_client on;
        ssl_client_certificate b.pem;
        return 200 never;
      }
      server {
        listen 127.0.0.1:%%PORT_tls%% ssl;
        server_name lenient.example;
        ssl_verify_client optional;
        ssl_client_certificate b.pem;
        return 200 $ssl_client_verify;
      }
      server {
        listen 127.0.0.1:%%PORT_tls12%% ssl;
        ssl_certificate a.pem;
        ssl_certificate_key a.key;
        ssl_protocols TLSv1.2;
        return 200 old;
      }
      server {
        listen 127.0.0.1:%%PORT_verified%% ssl;
        ssl_certificate a.pem;
        ssl_certificate_key a.key;
        ssl_verify_client on;
        ssl_client_certificate b.pem;
        error_page 495 =200 /verdict;
        location /verdict { return 200 $ssl_client_verify; }
      }
    }`,
    {
      files: {
        'conf/a.pem': a.cert,
        'conf/a.key': a.key,
        'conf/b.pem': b.cert,
        'conf/b.key': b.key,
        'conf/wild.pem': wild.cert,
        'conf/wild.key': wild.key,
      },
    },
  );
}

/** For tests that end no server. */
const common = shared((scope) => start(scope, 1));

const GET = 'GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n';

test('the certificate is that of the name the client asks for', async (t) => {
  const srv = await common();
  const port = srv.port('tls');
  const subject = async (servername?: string): Promise<string> => {
    const connection = await connectRawTls(t, port, servername === undefined ? {} : { servername });
    const certificate: PeerCertificate = (connection.socket as TLSSocket).getPeerCertificate();
    connection.send(GET);
    await connection.receiveAll();
    return String(certificate.subject.CN);
  };
  t.is(await subject('a.example'), 'a.example');
  t.is(await subject('b.example'), 'b.example');
  t.is(await subject('B.Example'), 'b.example');
  t.is(await subject('x.wild.example'), '*.wild.example');
  t.is(await subject('nobody.example'), 'a.example', 'the default server’s');
  t.is(await subject(), 'a.example', 'no name at all');
});

test('a server without certificates of its own has the handshake of the default server, which asks for none of the client', async (t) => {
  const srv = await common();
  const ask = async (name: string): Promise<string> => {
    const connection = await connectRawTls(t, srv.port('tls'), { servername: name });
    connection.send(GET.replace('a.example', name));
    return connection.receiveAll();
  };
  t.regex(await ask('bare.example'), /^HTTP\/1\.1 400 [^]*No required SSL certificate was sent/);
  t.regex(await ask('lenient.example'), /\r\n\r\nNONE$/);
});

test('requests over TLS', async (t) => {
  const backend = await httpBackend(t, (_, response) => void patternStream(5_000_000).pipe(response));
  const srv = await start(t, backend.port);
  const port = srv.port('tls');
  const ask = async (request: string, servername = 'a.example'): Promise<string> => {
    const connection = await connectRawTls(t, port, { servername });
    connection.send(request);
    return connection.receiveAll();
  };
  t.regex(await ask(GET), new RegExp(`\\r\\n\\r\\na https on ${port}$`));
  t.regex(await ask(GET.replace('a.example', 'b.example')), /b b\.example$/, 'Host decides over the server name of TLS');
  t.regex(await ask(GET.replace(' / ', ' /moved ')), new RegExp(`Location: https://a\\.example:${port}/there\r\n`));
  const pipelined = await ask('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n'.repeat(3) + GET);
  t.is(pipelined.split('HTTP/1.1 200 OK').length - 1, 4);

  const connection = await connectRawTls(t, port, { servername: 'a.example' });
  const sink = new HashingSink();
  connection.send('GET /proxied HTTP/1.0\r\nHost: a.example\r\n\r\n');
  let text = '';
  let inBody = false;
  connection.socket.on('data', (data: string) => {
    connection.received = '';
    text = inBody ? data : text + data;
    const end = text.indexOf('\r\n\r\n');
    if (inBody || end >= 0) sink.write(Buffer.from(inBody ? text : text.slice(end + 4), 'latin1'));
    inBody ||= end >= 0;
  });
  await connection.receiveAll();
  t.is(sink.digest(), patternDigest(5_000_000));
});

test('variables tell what the handshake has agreed on', async (t) => {
  const srv = await common();
  const agreed = async (options: object): Promise<string> => {
    const connection = await connectRawTls(t, srv.port('tls'), options);
    connection.send(GET.replace(' / ', ' /agreed '));
    return (await connection.receiveAll()).split('\r\n\r\n')[1] ?? '';
  };
  t.is(
    await agreed({ servername: 'A.example', ALPNProtocols: ['http/1.1'], ciphers: 'TLS_AES_128_GCM_SHA256' }),
    'TLSv1.3 TLS_AES_128_GCM_SHA256 [a.example] . [http/1.1]',
  );
  const old = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as const;
  t.is(await agreed(old), 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256 [] . []');
  const first = await connectRawTls(t, srv.port('tls'), old);
  const session = (first.socket as TLSSocket).getSession();
  t.is(await agreed({ ...old, session }), 'TLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256 [] r []');
});

test('why a certificate of a client is not valid is reported in the words of OpenSSL alone', async (t) => {
  const srv = await common();
  const connection = await connectRawTls(t, srv.port('verified'), selfSigned('client.example'));
  connection.send(GET);
  t.regex(await connection.receiveAll(), /\r\n\r\nFAILED:self-signed certificate$/);
  await srv.waitForLog(/client SSL certificate verify error: \(self-signed certificate\), client: 127\.0\.0\.1/);
});

test('versions of TLS are those of ssl_protocols', async (t) => {
  const srv = await common();
  const protocol = async (name: string, options: object): Promise<string> => {
    const connection = await connectRawTls(t, srv.port(name), options);
    return (connection.socket as TLSSocket).getProtocol() ?? '';
  };
  t.is(await protocol('tls', {}), 'TLSv1.3');
  t.is(await protocol('tls', { maxVersion: 'TLSv1.2' }), 'TLSv1.2');
  t.is(await protocol('tls12', {}), 'TLSv1.2');
  await t.throwsAsync(protocol('tls12', { minVersion: 'TLSv1.3' }));
});

test('versions of TLS are those of the server that the client names', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const srv = await startSrv(
    t,
    `events {} http { ssl_certificate a.pem; ssl_certificate_key a.key;
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name old.example; ssl_protocols TLSv1.2; return 200 old; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name new.example; ssl_protocols TLSv1.3; return 200 new; }
      server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name *.both.example; return 200 both; } }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  );
  const protocol = async (options: object): Promise<string> =>
    ((await connectRawTls(t, srv.port('tls'), options)).socket as TLSSocket).getProtocol() ?? '';
  t.is(await protocol({}), 'TLSv1.2', 'the default server');
  t.is(await protocol({ servername: 'old.example' }), 'TLSv1.2');
  t.is(await protocol({ servername: 'New.example' }), 'TLSv1.3');
  t.is(await protocol({ servername: 'x.both.example' }), 'TLSv1.3');
  t.is(await protocol({ servername: 'x.both.example', maxVersion: 'TLSv1.2' }), 'TLSv1.2');
  await t.throwsAsync(protocol({ servername: 'new.example', maxVersion: 'TLSv1.2' }));
  await t.throwsAsync(protocol({ servername: 'old.example', minVersion: 'TLSv1.3' }));
});

test('garbage after the handshake ends the connection, and nothing else', async (t) => {
  const srv = await common();
  let toServer: Socket | undefined;
  const relay = createServer((client) => {
    toServer = connect(srv.port('tls'), '127.0.0.1');
    client.pipe(toServer).pipe(client);
    for (const socket of [client, toServer]) socket.on('error', () => undefined);
  });
  t.teardown(() => relay.close());
  await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
  const client = await connectRawTls(t, (relay.address() as AddressInfo).port);
  client.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await client.receive(/a https on/);
  toServer?.write('\x17\x03\x03\x00\x20garbage-garbage-garbage-garbage!', 'latin1');
  await client.receiveAll();
  const good = await connectRawTls(t, srv.port('tls'));
  good.send(GET);
  t.regex(await good.receiveAll(), /a https on/);
});

test('plain HTTP on a TLS port gets a response', async (t) => {
  const { cert, key } = selfSigned('a.example');
  const srv = await startSrv(
    t,
    `error_log logs/error.log info;
    events {}
    http {
      log_format line '"$request" $status $scheme [$https]';
      access_log logs/access.log line;
      client_header_timeout 2s;
      ssl_certificate a.pem;
      ssl_certificate_key a.key;
      server { listen 127.0.0.1:%%PORT_tls%% ssl; location / { return 200 never; } }
      server { listen 127.0.0.1:%%PORT_moving%% ssl; error_page 497 https://$host:$server_port$request_uri; location / { return 200 never; } }
      server { listen 127.0.0.1:%%PORT_page%% ssl; error_page 497 = /page; location / { return 200 never; } location /page { return 200 page; } }
    }`,
    { files: { 'conf/a.pem': cert, 'conf/a.key': key } },
  );
  const ask = async (name: string, ...pieces: string[]): Promise<string> => {
    const connection = await connectRaw(t, srv.port(name));
    for (const piece of pieces) {
      connection.send(piece);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return connection.receiveAll();
  };
  const get = 'GET /a?b HTTP/1.1\r\nHost: h.example\r\n\r\n';
  const refused = /^HTTP\/1\.1 400 Bad Request\r\n[^]*\r\nConnection: close\r\n[^]*The plain HTTP request was sent to HTTPS port/;
  t.regex(await ask('tls', get), refused);
  t.regex(await ask('tls', get.slice(0, 1), get.slice(1, 30), get.slice(30)), refused, 'in pieces');
  t.regex(await ask('tls', 'hello\r\n\r\n'), /^HTTP\/1\.1 400 [^]*<h1>400 Bad Request<\/h1><\/center>\r\n<hr>/);
  t.regex(await ask('moving', get), new RegExp(`^HTTP/1\\.1 302 [^]*\r\nLocation: https://h\\.example:${srv.port('moving')}/a\\?b\r\n`));
  t.regex(await ask('page', get), /^HTTP\/1\.1 200 [^]*\r\n\r\npage$/);
  t.is(await ask('tls'), '', 'nothing is sent: closed after client_header_timeout');
  t.is(await ask('tls', 'GET /'), '');
  await srv.waitForLog(
    /\[info\].* client sent plain HTTP request to HTTPS port while reading client request headers, client: 127\.0\.0\.1/,
  );
  await srv.waitForLog(/"GET \/" 408/, 'logs/access.log');
  t.deepEqual(srv.read('logs/access.log').trimEnd().split('\n'), [
    ...Array.from({ length: 2 }, () => '"GET /a?b HTTP/1.1" 400 http []'),
    '"hello" 400 http []',
    '"GET /a?b HTTP/1.1" 302 http []',
    '"GET /a?b HTTP/1.1" 200 http []',
    '"GET /" 408 http []',
  ]);
});

test('of the protocols that a client offers (ALPN) the one that is spoken is chosen', async (t) => {
  const srv = await common();
  const chosen = async (ALPNProtocols?: string[]): Promise<unknown> => {
    const options = ALPNProtocols === undefined ? {} : { ALPNProtocols };
    return ((await connectRawTls(t, srv.port('tls'), options)).socket as TLSSocket).alpnProtocol;
  };
  t.is(await chosen(['h2', 'http/1.1']), 'http/1.1');
  t.is(await chosen(['http/1.0']), 'http/1.0');
  t.is(await chosen(), false);
  await t.throwsAsync(chosen(['h2']), undefined, 'RFC 7301, 3.2: there is nothing to speak');
});

test('a client that begins no handshake does not keep the server from ending', async (t) => {
  const srv = await start(t, 1);
  const silent = await connectRaw(t, srv.port('tls'));
  const since = Date.now();
  t.deepEqual(await srv.stop('SIGQUIT'), { code: 0, signal: null });
  t.true(Date.now() - since < 20_000, 'client_header_timeout is 60 s');
  t.is(await silent.receiveAll(), '');
});

test('a handshake that fails hurts nobody', async (t) => {
  const srv = await common();
  const port = srv.port('tls');
  const plain = await connectRaw(t, port);
  plain.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await plain.receiveAll();
  const garbage = await connectRaw(t, port);
  garbage.send('\x16\x03\x01\x00\x05hello');
  await garbage.receiveAll();
  await new Promise<void>((resolve) => {
    const gone = connect(port, '127.0.0.1', () => gone.resetAndDestroy());
    gone.once('close', () => resolve());
  });
  await new Promise<void>((resolve) => {
    const tls = connectTls({ host: '127.0.0.1', port, rejectUnauthorized: false });
    tls.once('secureConnect', () => tls.destroy());
    tls.once('close', () => resolve());
  });
  await srv.waitForLog(/\[info\].* SSL_do_handshake\(\) failed .* while SSL handshaking, client: 127\.0\.0\.1/);
  const good = await connectRawTls(t, port);
  good.send(GET);
  t.regex(await good.receiveAll(), /a https on/);
});

const withCertificate = (name: string): string => `events {}
  http {
    server {
      listen 127.0.0.1:%%PORT_tls%% ssl;
      ssl_certificate ${name}.pem;
      ssl_certificate_key ${name}.key;
      return 200 ${name};
    }
  }`;

const subjectOf = ({ socket }: { socket: unknown }): unknown => (socket as TLSSocket).getPeerCertificate().subject.CN;

test('a reload brings another certificate, for old and new connections as it should be', async (t) => {
  const first = selfSigned('first.example');
  const second = selfSigned('second.example');
  const srv = await startSrv(t, withCertificate('first'), {
    files: { 'conf/first.pem': first.cert, 'conf/first.key': first.key, 'conf/second.pem': second.cert, 'conf/second.key': second.key },
  });
  const old = await connectRawTls(t, srv.port('tls'));
  t.is(subjectOf(old), 'first.example');
  await srv.configure(withCertificate('second'));
  srv.signal('SIGHUP');
  await waitFor('the new certificate', async () => subjectOf(await connectRawTls(t, srv.port('tls'))) === 'second.example');
  t.is(subjectOf(await connectRawTls(t, srv.port('tls'), { servername: 'any.example' })), 'second.example');
  old.send(GET);
  t.regex(await old.receiveAll(), /second$/, 'an open connection goes on, with the new configuration');
});

const siteFiles = (...names: readonly [string, ...string[]]): Record<string, string> => {
  const { cert, key } = selfSigned(...names);
  return { 'conf/site.pem': cert, 'conf/site.key': key };
};

test('a certificate renewed under its name is read at the next reload; one that is broken is rejected', async (t) => {
  const srv = await startSrv(t, `worker_processes 2; error_log logs/error.log notice; ${withCertificate('site')}`, {
    files: siteFiles('old.example'),
  });
  const subject = async (servername?: string): Promise<unknown> =>
    subjectOf(await connectRawTls(t, srv.port('tls'), servername === undefined ? {} : { servername }));
  t.is(await subject(), 'old.example');

  writeFileSync(srv.path('conf/site.pem'), 'nonsense');
  srv.signal('SIGHUP');
  await srv.waitForLog(/cannot use certificate "site\.pem": .* in .*:\d+/);
  await srv.waitForLog(/the current configuration stays as it was/);
  t.is(await subject(), 'old.example');

  for (const [path, content] of Object.entries(siteFiles('new.example'))) writeFileSync(srv.path(path), content);
  srv.signal('SIGHUP');
  await srv.waitForLog(/ reconfigured$/m);
  for (let at = 0; at < 8; at++) t.is(await subject(at % 2 === 0 ? undefined : 'any.example'), 'new.example', 'in every worker');
});
