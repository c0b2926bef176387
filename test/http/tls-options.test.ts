/** Options of TLS that both engines share: rejected handshakes, passwords of keys, commands of OpenSSL, what Node has nothing for. */
import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:net';
import { duplexPair } from 'node:stream';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { hasEpoll } from '../harness/event-methods.js';
import { check } from '../harness/check.js';
import { httpsBackend } from '../harness/backends.js';
import { certificateFor, revocationList, selfSigned } from '../harness/certificate.js';
import { connectRawTls, exchange, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';

const own = selfSigned('own.example');
const rsa = certificateFor(['rsa.example'], { kind: 'rsa' });
const member = selfSigned('member.example');
const good = selfSigned('good');
const revoked = selfSigned('revoked');
const expired = certificateFor(['expired'], { days: [-3, -1] });

function encrypted(key: string, passphrase: string): string {
  return createPrivateKey(key).export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase });
}

const TRUSTED = 'proxy_ssl_verify on; proxy_ssl_trusted_certificate member.pem; proxy_ssl_name member.example;';

const FILES = {
  'conf/own.pem': own.cert,
  'conf/own.key': own.key,
  'conf/rsa.pem': rsa.cert,
  'conf/rsa.key': rsa.key,
  'conf/locked.key': encrypted(own.key, 'second'),
  'conf/broken.pem': own.cert + own.cert.replace(/^(.*\n.{4}).{8}/, '$1AAAAAAAA'),
  'conf/cut.pem': own.cert.slice(0, 200),
  'conf/passwords': 'first\n\nsecond\nthird\n',
  'conf/wrong': 'first\n',
  'conf/member.pem': member.cert,
  'conf/member.key': member.key,
  'conf/revoked.crl': revocationList(own, false) + revocationList(member),
  'conf/empty.crl': revocationList(own, false) + revocationList(member, false),
  'conf/clients.pem': good.cert + revoked.cert + expired.cert,
  'conf/clients.crl': revocationList(good, false) + revocationList(expired, false) + revocationList(revoked),
  'conf/other-clients.crl': revocationList(revoked) + revocationList(good, false),
};

/** Of servers of either engine, at a port of this name; what they send is their port. */
const SETTINGS: Readonly<Record<string, string>> = {
  rejected: 'ssl_reject_handshake on;',
  locked: 'ssl_certificate own.pem; ssl_certificate_key locked.key; ssl_password_file passwords;',
  suites: `ssl_certificate own.pem; ssl_certificate_key own.key; ssl_conf_command ciphersuites TLS_CHACHA20_POLY1305_SHA256;`,
  list: `ssl_certificate own.pem; ssl_certificate_key own.key; ssl_conf_command CipherString ECDHE-ECDSA-AES256-GCM-SHA384;
    ssl_conf_command MaxProtocol TLSv1.2;`,
  newest: 'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_conf_command MinProtocol TLSv1.3; ssl_conf_command Groups P-384;',
  hashes: 'ssl_certificate rsa.pem; ssl_certificate_key rsa.key; ssl_conf_command SignatureAlgorithms RSA-PSS+SHA512;',
  preferring: `ssl_certificate own.pem; ssl_certificate_key own.key; ssl_protocols TLSv1.2; ssl_conf_command Options ServerPreference,-SessionTicket;
    ssl_ciphers ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES128-GCM-SHA256;`,
  dates: 'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_verify_client optional_no_ca;',
  keys: 'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_key_log logs/server.keys; ssl_certificate_compression on;',
  lists:
    'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_verify_client on; ssl_client_certificate clients.pem; ssl_crl other-clients.crl;',
  lenient:
    'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_verify_client optional_no_ca; ssl_client_certificate clients.pem; ssl_crl clients.crl;',
  ticketless: 'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_conf_command NumTickets 0; ssl_ocsp off;',
};

/** @param prefix of the ports */
const each = (prefix: string, content: string, names = Object.keys(SETTINGS)): string =>
  Object.entries(SETTINGS)
    .filter(([name]) => names.includes(name))
    .map(([name, directives]) => `server { listen 127.0.0.1:%%PORT_${prefix}${name}%% ssl; ${directives} ${content} }`)
    .join('\n');

/** A response of several records. */
const SMALL_RECORDS = `server { listen 127.0.0.1:%%PORT_small%% ssl; ssl_certificate own.pem; ssl_certificate_key own.key; ssl_protocols TLSv1.2;
  ssl_buffer_size 1k; return 200 ${'x'.repeat(3000)}; }`;

async function startSite(scope: Scope): Promise<Srv> {
  const backend = await httpsBackend(
    scope,
    { ...member, requestCert: true, rejectUnauthorized: false, ca: own.cert },
    (request, response) => {
      const socket = request.socket as TLSSocket;
      response.end(`${String(socket.getProtocol())} ${socket.getCipher().name} ${String(socket.authorized)}`);
    },
  );
  return startSrv(
    scope,
    `error_log logs/error.log info; events {}
    http {
      ${each('http_', 'return 200 "$server_port $ssl_client_v_start|$ssl_client_v_end|$ssl_client_v_remain";')}
      server { listen 127.0.0.1:%%PORT_http_rejected%% ssl; server_name good.example; ssl_certificate own.pem; ssl_certificate_key own.key; return 200 good; }
      ${SMALL_RECORDS}
      server { listen 127.0.0.1:%%PORT_proxy%%;
        location /commands { proxy_pass https://127.0.0.1:${backend.port}; proxy_ssl_conf_command MaxProtocol TLSv1.2; proxy_ssl_conf_command CipherString ECDHE-ECDSA-AES256-GCM-SHA384; }
        location /keys { proxy_pass https://127.0.0.1:${backend.port}; proxy_ssl_key_log logs/http.keys; }
        location /suite { proxy_pass https://127.0.0.1:${backend.port}; proxy_ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256; }
        location /revoked { proxy_pass https://127.0.0.1:${backend.port}; ${TRUSTED} proxy_ssl_crl revoked.crl; }
        location /unrevoked { proxy_pass https://127.0.0.1:${backend.port}; ${TRUSTED} proxy_ssl_crl empty.crl; }
        location /locked { proxy_pass https://127.0.0.1:${backend.port}; proxy_ssl_certificate own.pem; proxy_ssl_certificate_key locked.key; proxy_ssl_password_file passwords; }
      }
    }
    stream {
      ${each('stream_', 'return "$server_port $ssl_client_v_start|$ssl_client_v_end|$ssl_client_v_remain";')}
      server { listen 127.0.0.1:%%PORT_stream_rejected%% ssl; server_name good.example; ssl_certificate own.pem; ssl_certificate_key own.key; return good; }
      server { listen 127.0.0.1:%%PORT_relay%%; proxy_ssl on; proxy_pass 127.0.0.1:${backend.port}; proxy_ssl_conf_command MinProtocol TLSv1.3;
        proxy_ssl_conf_command Ciphersuites TLS_CHACHA20_POLY1305_SHA256; proxy_ssl_certificate own.pem; proxy_ssl_certificate_key locked.key; proxy_ssl_password_file passwords; }
      server { listen 127.0.0.1:%%PORT_relayed_keys%%; proxy_ssl on; proxy_pass 127.0.0.1:${backend.port}; proxy_ssl_key_log logs/stream.keys; }
      server { listen 127.0.0.1:%%PORT_revoked%%; proxy_ssl on; proxy_pass 127.0.0.1:${backend.port}; ${TRUSTED} proxy_ssl_crl revoked.crl; }
    }`,
    { files: FILES },
  );
}

const site = shared(startSite);

/** The sockets of Node.js. */
const nodeSite = shared((scope) =>
  startSrv(
    scope,
    `worker_processes 1; events { use node; } http { ${each('', 'return 200 $server_port;', ['lists', 'lenient', 'dates'])} ${SMALL_RECORDS} }`,
    {
      files: FILES,
    },
  ),
);
const GET = 'GET / HTTP/1.1\r\nHost: good.example\r\nConnection: close\r\n\r\n';

/** The content of a file that the owner alone may read. */
async function keysIn(name: string): Promise<string> {
  const path = join((await site()).prefix, 'logs', name);
  return (statSync(path).mode & 0o777) === 0o600 ? readFileSync(path, 'utf8') : '';
}

interface Visit {
  readonly protocol: string | null;
  readonly cipher: string;
  readonly subject: unknown;
  readonly received: string;
}

async function visit(t: ExecutionContext, port: number, options: ConnectionOptions = {}): Promise<Visit> {
  const connection = await connectRawTls(t, port, options);
  const socket = connection.socket as TLSSocket;
  const seen = { protocol: socket.getProtocol(), cipher: socket.getCipher().name, subject: socket.getPeerCertificate().subject.CN };
  connection.send(GET);
  return { ...seen, received: await connection.receiveAll() };
}

/** Tests of servers at these ports. */
function verifiesClients(name: string, at: (port: string) => Promise<number>): void {
  const isAccepted = async (t: ExecutionContext, port: string, client: ConnectionOptions): Promise<boolean> => {
    const number = await at(port);
    const { received } = await visit(t, number, client);
    return received.includes(String(number));
  };

  test(`${name}: all lists of a file of ssl_crl are used`, async (t) => {
    t.true(await isAccepted(t, 'lists', good));
    t.false(await isAccepted(t, 'lists', revoked));
  });

  test(`${name}: "ssl_verify_client optional_no_ca" accepts unknown issuers, and neither revoked nor expired certificates`, async (t) => {
    t.true(await isAccepted(t, 'lenient', good));
    t.false(await isAccepted(t, 'lenient', revoked));
    t.false(await isAccepted(t, 'lenient', expired));
    t.true(await isAccepted(t, 'dates', own));
    t.false(await isAccepted(t, 'dates', expired));
  });
}

for (const engine of ['http', 'stream']) {
  const at = async (name: string): Promise<number> => (await site()).port(`${engine}_${name}`);

  test(`${engine}: ssl_reject_handshake needs no certificate, and others on the address have theirs`, async (t) => {
    const port = await at('rejected');
    const alert = { message: /unrecognized name/ };
    await t.throwsAsync(visit(t, port), alert, 'no name');
    await t.throwsAsync(visit(t, port, { servername: 'bad.example' }), alert);
    await t.throwsAsync(visit(t, port, { servername: 'bad.example', maxVersion: 'TLSv1.2' }), alert);
    t.regex((await visit(t, port, { servername: 'good.example' })).received, /good$/);
    await (await site()).waitForLog(/\[info\] .*handshake rejected while SSL handshaking, client: 127\.0\.0\.1/);
  });

  test(`${engine}: ssl_password_file opens an encrypted key`, async (t) => {
    t.is((await visit(t, await at('locked'))).subject, 'own.example');
  });

  test(`${engine}: ssl_conf_command sets ciphers and versions`, async (t) => {
    t.is((await visit(t, await at('suites'))).cipher, 'TLS_CHACHA20_POLY1305_SHA256');
    const { protocol, cipher } = await visit(t, await at('list'));
    t.deepEqual([protocol, cipher], ['TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384']);
    t.is((await visit(t, await at('newest'))).protocol, 'TLSv1.3');
    await t.throwsAsync(visit(t, await at('newest'), { maxVersion: 'TLSv1.2' }));
  });

  test(`${engine}: ssl_conf_command sets groups, algorithms of signatures and options`, async (t) => {
    await t.notThrowsAsync(visit(t, await at('newest'), { ecdhCurve: 'P-384' }));
    await t.throwsAsync(visit(t, await at('newest'), { ecdhCurve: 'X25519' }));
    await t.notThrowsAsync(visit(t, await at('hashes'), { sigalgs: 'RSA-PSS+SHA512' }));
    await t.throwsAsync(visit(t, await at('hashes'), { sigalgs: 'RSA-PSS+SHA256' }));
    const ciphers = 'ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305';
    t.is((await visit(t, await at('preferring'), { ciphers })).cipher, 'ECDHE-ECDSA-CHACHA20-POLY1305');
    const connection = await connectRawTls(t, await at('preferring'));
    t.is((connection.socket as TLSSocket).getTLSTicket(), undefined);
  });

  verifiesClients(engine, at);

  test(`${engine}: $ssl_client_v_* tell how long the certificate of a client is valid`, async (t) => {
    const { cert, key } = certificateFor(['client.example'], { days: [-1, 9.5] });
    const { validFrom, validTo } = new X509Certificate(cert);
    const { received } = await visit(t, await at('dates'), { cert, key });
    t.true(received.endsWith(` ${validFrom}|${validTo}|9`), received);
    t.regex((await visit(t, await at('dates'))).received, / \|\|$/, 'without a certificate');
  });

  test(`${engine}: ssl_key_log gets the secrets of the connections with clients`, async (t) => {
    for (const [maxVersion, label] of [
      ['TLSv1.2', 'CLIENT_RANDOM'],
      ['TLSv1.3', 'SERVER_TRAFFIC_SECRET_0'],
    ] as const) {
      await visit(t, await at('keys'), { maxVersion });
      t.regex(await keysIn('server.keys'), new RegExp(`^${label} [0-9a-f]{64} [0-9a-f]{64,96}$`, 'm'));
    }
  });

  test(`${engine}: proxy_ssl_key_log gets the secrets of the connections with members`, async (t) => {
    const srv = await site();
    const request = 'GET /keys HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
    await exchange(t, srv.port(engine === 'http' ? 'proxy' : 'relayed_keys'), request);
    t.regex(await keysIn(`${engine}.keys`), /^CLIENT_TRAFFIC_SECRET_0 [0-9a-f]{64} [0-9a-f]{64,96}$/m);
  });

  test(`${engine}: ssl_conf_command passes any command to OpenSSL`, async (t) => {
    const sessions = async (name: string): Promise<number> => {
      const connection = await connectRawTls(t, await at(name));
      let count = 0;
      (connection.socket as TLSSocket).on('session', () => count++);
      connection.send(GET);
      await connection.receiveAll();
      return count;
    };
    t.is(await sessions('ticketless'), 0);
    t.true((await sessions('dates')) > 0);
  });
}

const REJECTED: Readonly<Record<string, RegExp>> = {
  'ssl_conf_command Nonsense Peer;': /SSL_CONF_cmd\("Nonsense", "Peer"\) failed \(SSL: error:[^)]*unknown cmd name:cmd=Nonsense\) in /g,
  'ssl_conf_command MinProtocol TLSv9;': /SSL_CONF_cmd\("MinProtocol", "TLSv9"\) failed \(SSL: error:[^)]*bad value:[^)]*\) in /g,
  'ssl_conf_command DHParameters none.pem;': /SSL_CONF_cmd\("DHParameters", ".*\/conf\/none\.pem"\) failed \(SSL: error:/g,
  'ssl_ocsp on;': /"ssl_ocsp" is not supported on this platform in /g,
  'ssl_ech_file own.pem;': /"ssl_ech_file" is not supported on this platform in /g,
  'ssl_key_log nowhere/keys;': /open\(\) ".*nowhere\/keys" failed \(2: No such file or directory\)/g,
  'ssl_password_file none;': /none.*2: No such file/g,
  'ssl_dhparam own.pem;': /cannot load "ssl_dhparam" ".*own\.pem": no DH parameters found in /g,
  'ssl_client_certificate passwords;': /cannot load certificate ".*passwords": no certificate found in /g,
  'ssl_client_certificate broken.pem; ssl_verify_client on;': /cannot load certificate ".*broken\.pem": certificate 2 of 2: .* in /g,
  'ssl_trusted_certificate cut.pem;': /cannot load certificate ".*cut\.pem": no "-----END CERTIFICATE-----" in /g,
  'ssl_crl missing.crl;': /cannot load CRL ".*missing\.crl": .*2: No such file/g,
  'ssl_crl own.pem;': /cannot load CRL ".*own\.pem": no CRL found in /g,
  'ssl_ciphers NIX;': /SSL_CTX_set_cipher_list\("NIX"\) failed \(SSL: error:.*no cipher match\) in /g,
  'ssl_ecdh_curve nix;': /SSL_CTX_set1_curves_list\("nix"\) failed \(SSL: error:.*\) in /g,
  'ssl_certificate_key member.key;': /cannot use certificate key "member\.key": key values mismatch in /g,
  'ssl_certificate_key locked.key;': /cannot load certificate key ".*locked\.key": it is encrypted in /g,
  'ssl_certificate_key locked.key; ssl_password_file wrong;':
    /cannot load certificate key ".*locked\.key": PEM_read_bio_PrivateKey\(\) failed/g,
};

test('settings that are rejected, in either engine', async (t) => {
  const servers = Object.keys(REJECTED).map((directives, at) => {
    const key = directives.startsWith('ssl_certificate_key') ? '' : 'ssl_certificate_key own.key;';
    return `server { listen unix:a${at} ssl; ssl_certificate own.pem; ${key} ${directives} return 200; }`;
  });
  const { code, stderr } = await check(t, `events {} http { ${servers.join('')} } stream { ${servers.join('')} }`, FILES);
  t.is(code, 1);
  for (const [directives, expected] of Object.entries(REJECTED)) t.is(stderr.match(expected)?.length, 2, directives);
});

const bare = (port: string): string => `server { listen 127.0.0.1:%%PORT_${port}%% ssl; ssl_reject_handshake on; return 200; }
  server { listen 127.0.0.1:%%PORT_${port}%% ssl; server_name b; return 200; }`;

test('beside a default server that rejects handshakes others need certificates', async (t) => {
  const { stderr } = await check(t, `events {} http { ${bare('a')} } stream { ${bare('b')} }`, FILES);
  t.is(stderr.match(/no "ssl_certificate" is defined for the "listen \.\.\. ssl" directive/g)?.length, 2);
});

const commanded = (
  port: string,
): string => `server { listen 127.0.0.1:%%PORT_${port}%% ssl; ssl_certificate own.pem; ssl_certificate_key own.key;
  ssl_conf_command Options KTLS; ssl_conf_command RecordPadding 512; return 200; }`;

(hasEpoll ? test : test.skip)('what the sockets of Node.js do not have is rejected with "use node"', async (t) => {
  const member = 'proxy_pass https://127.0.0.1:1; proxy_ssl_conf_command RecordPadding 512;';
  const blocks = `http { ${commanded('a')} server { listen unix:m; location / { location /a { ${member} } } } } stream { ${commanded('b')} }`;
  t.is((await check(t, `events { use epoll; } ${blocks}`, FILES)).code, 0);
  const { code, stderr } = await check(t, `events { use node; } ${blocks}`, FILES);
  t.is(code, 1);
  const rejected = (what: string): number =>
    stderr.match(new RegExp(`the command "${what}" of "(proxy_)?ssl_conf_command" is not supported by the event method "node" in `, 'g'))
      ?.length ?? 0;
  t.deepEqual([rejected('Options KTLS'), rejected('RecordPadding 512')], [2, 3]);
  t.regex(stderr, /use epoll;/);
});

verifiesClients('use node', async (port) => (await nodeSite()).port(port));

test('use node: a client cannot renegotiate', async (t) => {
  const { socket } = await connectRawTls(t, (await nodeSite()).port('small'), { maxVersion: 'TLSv1.2' });
  const error = await new Promise<Error | null>((resolve) => {
    socket.once('error', resolve);
    (socket as TLSSocket).renegotiate({ rejectUnauthorized: false }, resolve);
  });
  t.regex(String(error), /no renegotiation/);
});

/** Lengths of the records with content that a server sends (RFC 5246, 6.2.1). */
function recordsOf(port: number): Promise<readonly number[]> {
  return new Promise((resolve, reject) => {
    const [near, far] = duplexPair();
    const socket = connect(port, '127.0.0.1');
    const received: Buffer[] = [];
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    socket.on('error', reject);
    far.pipe(socket).pipe(far);
    const secure = connectTls({ socket: near, rejectUnauthorized: false }, () => secure.write(GET));
    secure.on('error', reject);
    secure.resume();
    socket.on('close', () => {
      const bytes = Buffer.concat(received);
      const lengths: number[] = [];
      for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3))
        if (bytes[at] === 23) lengths.push(bytes.readUInt16BE(at + 3));
      resolve(lengths);
    });
  });
}

for (const [method, started] of [
  ['epoll', site],
  ['node', nodeSite],
] as const) {
  test(`use ${method}: ssl_buffer_size is the most that a record has`, async (t) => {
    const records = await recordsOf((await started()).port('small'));
    t.true(records.length >= 3);
    // With what encryption adds.
    for (const length of records) t.true(length <= 1024 + 32, String(length));
  });
}

test('proxy_ssl_conf_command and proxy_ssl_password_file', async (t) => {
  const srv = await site();
  const body = async (path: string): Promise<string> => (await get(srv.port('proxy'), path)).body;
  t.is(await body('/commands'), 'TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384 false');
  t.is(await body('/suite'), 'TLSv1.3 TLS_CHACHA20_POLY1305_SHA256 false');
  t.regex(await body('/locked'), / true$/);
  t.regex(await exchange(t, srv.port('relay'), GET), /TLSv1\.3 TLS_CHACHA20_POLY1305_SHA256 true/);
});

test('proxy_ssl_crl: a member whose certificate is revoked is not spoken with', async (t) => {
  const srv = await site();
  t.is((await get(srv.port('proxy'), '/unrevoked')).status, 200);
  t.is((await get(srv.port('proxy'), '/revoked')).status, 502);
  await srv.waitForLog(/upstream SSL certificate verify error: \(23:certificate revoked\) while .*, request: "GET \/revoked/);
  t.is(await exchange(t, srv.port('revoked'), GET), '');
  t.is(srv.log().match(/verify error: \(23:certificate revoked\)/g)?.length, 2);
});

test('keys and passwords from named pipes, whose writers wait; a reload reads what is written by then', async (t) => {
  const folder = tempFolder(t);
  const [key, password] = ['key', 'password'].map((name) => join(folder, name));
  if (key === undefined || password === undefined) return;
  execFileSync('mkfifo', [key, password]);
  const written = Promise.all([writeFile(key, encrypted(own.key, 'piped')), writeFile(password, 'piped\n')]);
  const srv = await startSrv(
    t,
    `error_log logs/error.log notice; events {} http { server { listen 127.0.0.1:%%PORT_web%% ssl;
      ssl_certificate own.pem; ssl_certificate_key ${key}; ssl_password_file ${password}; return 200 hello; } }`,
    { files: FILES },
  );
  await written;
  const assertServed = async (): Promise<void> => {
    const client = await connectRawTls(t, srv.port('web'), { rejectUnauthorized: false });
    client.send('GET / HTTP/1.0\r\n\r\n');
    t.regex(await client.receiveAll(), /\r\n\r\nhello$/);
  };
  await assertServed();
  srv.signal('SIGHUP');
  await srv.waitForLog(/reconfigured/);
  await assertServed();
});
