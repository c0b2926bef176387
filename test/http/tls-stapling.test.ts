/** Stapling (ssl_stapling) in both engines, with the responder of the program openssl. */
import { execFile, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type ConnectionOptions } from 'node:tls';
import type { AddressInfo } from 'node:net';
import anyTest, { type ExecutionContext } from 'ava';
import { certificateFor, selfSigned, type Certificate } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { usesEpoll } from '../harness/event-methods.js';
import { freePort } from '../harness/ports.js';
import { FakeChannels } from '../../testing/channels.js';
import { FakeControlPlaneGuard, FakeHostNames } from '../../testing/host-names.js';
import { FakeLog } from '../../testing/log.js';
import { FakeTasks } from '../../testing/tasks.js';
import type { TlsLibrary } from '../../core/contract/tls-library.js';
import { StapledStatuses } from '../../core/toolkit/tls/stapled-statuses.js';
import { responderOf, type Responder } from '../../core/toolkit/tls/status-request.js';
import { testWith } from '../harness/programs.js';
import type { Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';

const test = testWith('openssl');
/** Tests of servers that cannot staple over the sockets of Node.js. */
const epollTest = usesEpoll ? test : anyTest.skip;

const authority = selfSigned('authority.example');
const serialOf = ({ cert }: Certificate): string => new X509Certificate(cert).serialNumber;

/** Certificates that an authority has signed, as its responder knows them. */
interface Issued {
  readonly certificate: Certificate;
  readonly isRevoked?: boolean;
}

/** Starts the responder of an authority. @param port at which it is to listen */
async function startResponder(t: Scope, port: number, issued: readonly Issued[]): Promise<void> {
  const folder = tempFolder(t);
  const lines = issued.map(({ certificate, isRevoked }) =>
    [
      isRevoked === true ? 'R' : 'V',
      '491231235959Z',
      isRevoked === true ? '200101000000Z' : '',
      serialOf(certificate),
      'unknown',
      `/CN=${serialOf(certificate)}`,
    ].join('\t'),
  );
  writeFileSync(join(folder, 'index'), `${lines.join('\n')}\n`);
  writeFileSync(join(folder, 'ca.pem'), authority.cert);
  writeFileSync(join(folder, 'ca.key'), authority.key);
  const options = ['-index', 'index', '-CA', 'ca.pem', '-rsigner', 'ca.pem', '-rkey', 'ca.key', '-nmin', '60', '-port', String(port)];
  const child = spawn('openssl', ['ocsp', ...options], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  await waitFor('the responder', () => said.includes('ACCEPT') || (child.exitCode !== null && Promise.reject(new Error(said))));
}

/** A handshake. @returns the response that came along with the certificate, and the subject of that */
function handshake(
  t: ExecutionContext,
  port: number,
  options: ConnectionOptions = {},
): Promise<{ status: Buffer | undefined; subject: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, requestOCSP: true, ...options });
    t.teardown(() => socket.destroy());
    let status: Buffer | undefined;
    socket.once('OCSPResponse', (response: Buffer | null) => (status = response ?? undefined));
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const { CN: subject } = socket.getPeerCertificate().subject;
      socket.destroy();
      resolve({ status, subject: String(subject) });
    });
  });
}

/** Output of the program openssl about the status that it gets. */
function sClient(port: number, ...more: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile('openssl', ['s_client', '-status', '-connect', `127.0.0.1:${port}`, ...more], (_, stdout) => resolve(stdout));
    child.stdin?.end();
  });
}

const stapled = (t: ExecutionContext, port: number, options: ConnectionOptions = {}): Promise<Buffer> =>
  waitFor('a status', async () => (await handshake(t, port, options)).status);

const RSA_ONLY = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES128-GCM-SHA256' } as const;
const EC_ONLY = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' } as const;

epollTest('clients that ask get the status of the certificate that was chosen, in both engines and all workers', async (t) => {
  const port = await freePort(t);
  const responder = `http://127.0.0.1:${port}`;
  const ec = certificateFor(['ec.example'], { issuer: authority, responder });
  const rsa = certificateFor(['rsa.example'], { kind: 'rsa', issuer: authority, responder });
  await startResponder(t, port, [{ certificate: ec }, { certificate: rsa }]);
  const settings = `ssl_certificate ec.pem; ssl_certificate_key ec.key; ssl_certificate rsa.pem; ssl_certificate_key rsa.key;
    ssl_trusted_certificate ca.pem; ssl_stapling on; ssl_stapling_verify on;`;
  const srv = await startSrv(
    t,
    `worker_processes 2; events {}
    http { server { listen 127.0.0.1:%%PORT_http%% ssl; ${settings} return 200; } }
    stream { server { listen 127.0.0.1:%%PORT_stream%% ssl; ${settings} return ok; } }`,
    {
      files: {
        'conf/ec.pem': ec.cert,
        'conf/ec.key': ec.key,
        'conf/rsa.pem': `${rsa.cert}${authority.cert}`,
        'conf/rsa.key': rsa.key,
        'conf/ca.pem': authority.cert,
      },
    },
  );
  for (const engine of ['http', 'stream']) {
    const ofEc = await stapled(t, srv.port(engine), EC_ONLY);
    const ofRsa = await stapled(t, srv.port(engine), RSA_ONLY);
    t.true(ofEc.includes(Buffer.from(serialOf(ec), 'hex')), engine);
    t.true(ofRsa.includes(Buffer.from(serialOf(rsa), 'hex')), engine);
  }
  const said = await sClient(srv.port('http'), '-tls1_3');
  t.regex(said, /OCSP Response Status: successful/);
  t.regex(said, /Cert Status: good/);
  const worker = await waitFor('a status in every worker', async () => {
    const all = await Promise.all(Array.from({ length: 12 }, () => handshake(t, srv.port('http'), EC_ONLY)));
    return all.every(({ status }) => status !== undefined);
  });
  t.true(worker);
});

epollTest('while there is no good status handshakes succeed without one, and the error log says why', async (t) => {
  const port = await freePort(t);
  const url = `http://127.0.0.1:${port}`;
  const odd = createServer((request, response) => {
    if (request.url?.startsWith('/type/') === true) response.writeHead(200, { 'Content-Type': 'text/html' }).end('<p>');
    else if (request.url?.startsWith('/garbage/') === true)
      response.writeHead(200, { 'Content-Type': 'application/ocsp-response' }).end('nonsense');
    else if (request.url?.startsWith('/long/') === true)
      response.writeHead(200, { 'Content-Type': 'application/ocsp-response' }).end(Buffer.alloc(100_000));
    else if (request.url?.startsWith('/away/') === true) request.socket.destroy();
    else response.writeHead(404).end();
  });
  await new Promise<void>((done) => odd.listen(0, '127.0.0.1', done));
  t.teardown(() => odd.close());
  const oddPort = (odd.address() as AddressInfo).port;
  const cases: Readonly<Record<string, readonly [responder: string, words: RegExp]>> = {
    revoked: [`${url}/`, /certificate status "revoked" in the OCSP response/],
    type: [`http://127.0.0.1:${oddPort}/type`, /OCSP responder sent invalid "Content-Type" header: "text\/html"/],
    garbage: [`http://127.0.0.1:${oddPort}/garbage`, /d2i_OCSP_RESPONSE\(\) failed \(SSL: error:.*\)/],
    long: [`http://127.0.0.1:${oddPort}/long`, /OCSP responder sent more than 16384 bytes/],
    away: [`http://127.0.0.1:${oddPort}/away`, /OCSP responder prematurely closed connection/],
    missing: [`http://127.0.0.1:${oddPort}/missing`, /OCSP responder sent status 404/],
    closed: ['http://127.0.0.1:1/', /connect\(\) failed \(111: Connection refused\)/],
    unknown: ['http://no-such.invalid/', /no-such\.invalid could not be resolved \(3: Host not found\)/],
  };
  const files: Record<string, string> = { 'conf/ca.pem': authority.cert };
  const issued: Issued[] = [];
  const servers = Object.entries(cases).map(([name, [responder]]) => {
    const certificate = certificateFor([`${name}.example`], { issuer: authority });
    issued.push({ certificate, isRevoked: name === 'revoked' });
    files[`conf/${name}.pem`] = certificate.cert;
    files[`conf/${name}.key`] = certificate.key;
    return `server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name ${name}.example; ssl_certificate ${name}.pem; ssl_certificate_key ${name}.key;
      ssl_stapling on; ssl_stapling_responder ${responder}; ssl_trusted_certificate ca.pem; return 200; }`;
  });
  await startResponder(t, port, issued);
  const srv = await startSrv(t, `events {} http { ${servers.join('\n')} }`, { files });
  for (const [name, [, words]] of Object.entries(cases)) {
    const host = name === 'unknown' ? 'no-such\\.invalid' : '127\\.0\\.0\\.1';
    const peer = name === 'unknown' ? '' : '(, peer: 127\\.0\\.0\\.1:\\d+)?';
    const place = ` while requesting certificate status, responder: ${host}${peer}, certificate: ".*/conf/${name}\\.pem"`;
    await srv.waitForLog(new RegExp(`\\[error\\] .*${words.source}${place}`));
    t.deepEqual(await handshake(t, srv.port('tls'), { servername: `${name}.example` }), { status: undefined, subject: `${name}.example` });
  }
});

epollTest('ssl_stapling_file is sent as it is', async (t) => {
  const folder = tempFolder(t);
  const own = certificateFor(['own.example'], { issuer: authority });
  writeFileSync(join(folder, 'ca.pem'), authority.cert);
  writeFileSync(join(folder, 'ca.key'), authority.key);
  writeFileSync(join(folder, 'own.pem'), own.cert);
  writeFileSync(join(folder, 'index'), ['V', '491231235959Z', '', serialOf(own), 'unknown', '/CN=x\n'].join('\t'));
  const made = ['-index', 'index', '-CA', 'ca.pem', '-rsigner', 'ca.pem', '-rkey', 'ca.key', '-ndays', '1'];
  await new Promise<void>((done, fail) =>
    execFile('openssl', ['ocsp', ...made, '-issuer', 'ca.pem', '-cert', 'own.pem', '-respout', 'status.der'], { cwd: folder }, (error) =>
      error === null ? done() : fail(error),
    ),
  );
  const server = `ssl_certificate own.pem; ssl_certificate_key own.key; ssl_stapling on;`;
  const files = { 'conf/own.pem': own.cert, 'conf/own.key': own.key };
  const srv = await startSrv(
    t,
    `events {} http { server { listen 127.0.0.1:%%PORT_tls%% ssl; ${server} ssl_stapling_file ${folder}/status.der; return 200; } }`,
    { files },
  );
  t.true((await handshake(t, srv.port('tls'))).status?.includes(Buffer.from(serialOf(own), 'hex')));
  t.is((await handshake(t, srv.port('tls'), { requestOCSP: false })).status, undefined, 'clients that do not ask get none');
});

test('a status is fetched again before it ends, and sent as long as it is valid', async (t) => {
  const tasks = new FakeTasks();
  const log = new FakeLog();
  const halves = new FakeChannels();
  let isAway = false;
  const responder = createServer((_, response) =>
    response.writeHead(isAway ? 503 : 200, { 'Content-Type': 'application/ocsp-response' }).end('status'),
  );
  await new Promise<void>((done) => responder.listen(0, '127.0.0.1', done));
  t.teardown(() => responder.close());
  let asked = 0;
  const library = {
    obstacle: undefined,
    inquiryOf: () => (asked++, { request: Buffer.from('?'), responder: undefined }),
    validityOf: () => 60_000,
  };
  const services = {
    tasks,
    log,
    names: new FakeHostNames({}),
    guard: new FakeControlPlaneGuard([]),
    library: library as unknown as TlsLibrary,
  };
  const master = new StapledStatuses({ ...services, channels: halves.master, info: { role: 'master' } });
  master.start('master');
  const worker = new StapledStatuses({ ...services, channels: halves.worker(), info: { role: 'worker' } });
  worker.start('worker');
  const source = {
    certificate: { chain: Buffer.alloc(0), trusted: undefined },
    path: 'a.pem',
    responder: responderOf(`http://127.0.0.1:${(responder.address() as AddressInfo).port}`) as Responder,
    verifies: false,
  };
  const pass = async (ms: number): Promise<void> => {
    await tasks.pass(ms);
    await tasks.settled();
  };
  master.hold('a', source);
  worker.hold('a', undefined);
  t.is(worker.of('a').response(), undefined, 'no handshake waits for it');
  await pass(0);
  t.is(Buffer.from(worker.of('a').response() ?? []).toString(), 'status');
  await pass(29_000);
  t.is(asked, 1);
  isAway = true;
  await pass(2000);
  t.is(asked, 2, 'in the middle of its time');
  t.is(Buffer.from(worker.of('a').response() ?? []).toString(), 'status', 'the former one is valid still');
  await pass(10_500);
  t.is(asked, 3);
  await pass(10_500);
  t.is(asked, 3, 'it is asked less and less often');
  isAway = false;
  await pass(10_500);
  t.is(asked, 4);
  t.is(log.lines.length, 2);
  master.release('a', true);
  t.is(worker.of('a').response(), undefined);
  await pass(3_600_000);
  t.is(asked, 4, 'a certificate that is not used any more');
});

const server = (name: string, more: string): string =>
  `server { listen unix:s ssl; server_name s${more.length}; ssl_certificate ${name}.pem; ssl_certificate_key ${name}.key; ssl_stapling on; ${more} return 200; }`;

epollTest('what is wrong with stapling is said by -t', async (t) => {
  const plain = certificateFor(['plain.example'], { issuer: authority });
  const secure = certificateFor(['secure.example'], { issuer: authority, responder: 'https://127.0.0.1/' });
  const files = {
    'conf/plain.pem': plain.cert,
    'conf/plain.key': plain.key,
    'conf/secure.pem': secure.cert,
    'conf/secure.key': secure.key,
    'conf/ca.pem': authority.cert,
  };
  const warned = await check(
    t,
    `events {} http { ${server('plain', '')} ${server('plain', 'ssl_trusted_certificate ca.pem;')} ${server('secure', 'ssl_trusted_certificate  ca.pem;')} }`,
    files,
  );
  t.is(warned.code, 0, warned.stderr);
  t.regex(warned.stderr, /\[warn\] "ssl_stapling" ignored, issuer certificate not found for certificate ".*plain\.pem" in /);
  t.regex(warned.stderr, /\[warn\] "ssl_stapling" ignored, no OCSP responder URL in the certificate ".*plain\.pem" in /);
  t.regex(
    warned.stderr,
    /"ssl_stapling" ignored, invalid URL prefix in OCSP responder "https:\/\/127\.0\.0\.1\/" in the certificate ".*secure\.pem" in /,
  );
  const { code, stderr } = await check(t, `events {} http { ${server('plain', 'ssl_stapling_file plain.key;')} }`, files);
  t.is(code, 1);
  t.regex(stderr, /cannot load "ssl_stapling_file" ".*plain\.key": d2i_OCSP_RESPONSE\(\) failed .* in /);
  const other = await check(t, `events { use node; } http { ${server('plain', '')} }`, files);
  t.is(other.code, 1);
  t.regex(other.stderr, /"ssl_stapling" is not supported by the event method "node" in [^]*use epoll;/);
});
