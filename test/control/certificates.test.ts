/** `/v1/ssl`: certificates by API, seen by real handshakes. */
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { X509Certificate } from 'node:crypto';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { certificateFor, selfSigned, type Certificate } from '../harness/certificate.js';
import { connectRawTls, get } from '../harness/client.js';
import { runSrv, startSrv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';
import { errorOf } from './api-client.js';
import { followEvents } from './event-client.js';
import { Node, sharedNode, startNode, type NodeOptions } from './node.js';

const file = selfSigned('file.example');
const inherited = certificateFor(['inherited.example'], { kind: 'rsa' });

const OPTIONS: NodeOptions = {
  main: 'load_module modules/srv_http_dyn_ssl_module.so; load_module modules/srv_http_dyn_server_module.so; load_module modules/srv_http_config_module.so; load_module modules/srv_http_events_module.so;',
  controlMain: `load_module modules/srv_http_ssl_api_module.so; load_module modules/srv_http_dyn_server_api_module.so;
    load_module modules/srv_http_config_api_module.so; load_module modules/srv_http_history_api_module.so;
    load_module modules/srv_http_events_api_module.so;`,
  server: 'server_name plain; return 200 plain;',
  http: `upstream demo { zone demo 64k; server 127.0.0.1:1; }
    ssl_certificate rsa.pem;
    ssl_certificate_key rsa.key;
    server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name a.example; ssl_certificate a.pem; ssl_certificate_key a.key; return 200 a; }
    server { listen 127.0.0.1:%%PORT_tls%% ssl; server_name b.example; return 200 b; }
    server { listen 127.0.0.1:%%PORT_other%% ssl; server_name a.example b.example; return 200 other; }`,
  files: { 'conf/a.pem': file.cert, 'conf/a.key': file.key, 'conf/rsa.pem': inherited.cert, 'conf/rsa.key': inherited.key },
  workers: 2,
  // It is killed in the end.
  allowCrashes: true,
};
const shared = sharedNode(OPTIONS);

const RSA: ConnectionOptions = { ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' };
const ECC: ConnectionOptions = { ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' };

const at = (node: Node, port: string): string => `127.0.0.1:${node.srv.port(port)}`;
const fingerprintOf = ({ cert }: Certificate): string => new X509Certificate(cert).fingerprint256;
const infoOf = (kind: string, { cert, key }: Certificate): object => ({
  cert_type: kind,
  certificate: `data:${cert}`,
  certificateKey: `data:${key}`,
});

/** Fingerprint of the certificate that a new handshake shows; undefined: none could be agreed on. */
async function shownTo(
  t: ExecutionContext,
  port: number,
  servername: string,
  options: ConnectionOptions = {},
): Promise<string | undefined> {
  try {
    const { socket } = await connectRawTls(t, port, { servername, ...options });
    const { fingerprint256 } = (socket as TLSSocket).getPeerCertificate();
    socket.destroy();
    return fingerprint256;
  } catch {
    return undefined;
  }
}

/** In every worker: connections are spread over them. */
async function everywhere(t: ExecutionContext, port: number, servername: string, options?: ConnectionOptions): Promise<string | undefined> {
  const all = await Promise.all(Array.from({ length: 8 }, () => shownTo(t, port, servername, options)));
  t.is(new Set(all).size, 1, 'all workers show the same');
  return all[0];
}

interface Listed {
  readonly listens: readonly string[];
  readonly serverNames: readonly string[];
  readonly certificates: readonly (Readonly<Record<string, unknown>> & { readonly fingerprint: string })[];
}
const list = async (node: Node): Promise<readonly Listed[]> => (await node.call('GET', '/ssl')).json as Listed[];

test.serial('the list has what a certificate says of itself, and nothing of keys', async (t) => {
  const node = await shared();
  const response = await node.call('GET', '/ssl');
  t.is(response.status, 200);
  t.truthy(response.headers.etag);
  const servers = response.json as Listed[];
  const a = servers.find(({ serverNames }) => serverNames.join() === 'a.example');
  t.deepEqual(a?.listens, [at(node, 'tls')]);
  const [certificate] = a?.certificates ?? [];
  t.like(certificate, {
    cert_type: 'ecc',
    source: 'file',
    subject: 'CN=file.example',
    issuer: 'CN=file.example',
    names: ['file.example'],
    fingerprint: fingerprintOf(file),
    days_left: 0,
    expired: false,
    chain_length: 1,
  });
  t.regex(String(certificate?.not_after), /^\d{4}-\d\d-\d\dT/);
  const b = servers.find(({ serverNames }) => serverNames.join() === 'b.example');
  t.like(b?.certificates[0], { cert_type: 'rsa', key_bits: 2048, fingerprint: fingerprintOf(inherited) });
  t.notRegex(response.body, /PRIVATE|BEGIN/);
  const page = await node.call('GET', '/ssl?limit=1');
  t.is((page.json as Listed[]).length, 1);
  t.regex(String(page.headers.link), /rel="next"/);
});

test.serial('both kinds side by side, at every address and name, and the file again after that', async (t) => {
  const node = await shared();
  const [tls, other] = [node.srv.port('tls'), node.srv.port('other')];
  const [rsa, ecc] = [certificateFor(['new.example'], { kind: 'rsa' }), certificateFor(['new.example'])];
  const place = { listens: [at(node, 'tls'), at(node, 'other')], serverNames: ['a.example', 'b.example'] };
  const open = await connectRawTls(t, tls, { servername: 'a.example' });
  for (const [kind, certificate] of [
    ['rsa', rsa],
    ['ecc', ecc],
  ] as const) {
    const added = await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf(kind, certificate) });
    t.is(added.status, 200, added.body);
    t.deepEqual(added.json, { code: 0, msg: 'success.' });
  }
  for (const port of [tls, other])
    for (const name of ['a.example', 'b.example']) {
      t.is(await everywhere(t, port, name, RSA), fingerprintOf(rsa), `${name} ${port}`);
      t.is(await everywhere(t, port, name, ECC), fingerprintOf(ecc), `${name} ${port}`);
    }
  const shown = (await list(node)).map(({ certificates }) =>
    certificates.map(({ fingerprint, source }) => `${String(source)} ${fingerprint}`),
  );
  t.deepEqual(
    shown,
    Array.from({ length: 3 }, () => [`api ${fingerprintOf(rsa)}`, `api ${fingerprintOf(ecc)}`]),
  );
  open.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await open.receive(/\r\n\r\na$/);

  const renewed = certificateFor(['new.example']);
  t.is((await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf('ecc', renewed) })).status, 200);
  t.is(await everywhere(t, tls, 'a.example', ECC), fingerprintOf(renewed));
  t.is(await everywhere(t, tls, 'a.example', RSA), fingerprintOf(rsa), 'the other kind stays');

  t.is((await node.call('PUT', '/ssl', { type: 'del', ...place, cert_info: { cert_type: 'rsa' } })).status, 200);
  t.is(await everywhere(t, tls, 'a.example', RSA), undefined, 'the file has none of this kind');
  t.is(await everywhere(t, tls, 'b.example', RSA), fingerprintOf(inherited));
  t.is((await node.call('PUT', '/ssl', { type: 'del', ...place })).status, 200);
  t.is(await everywhere(t, tls, 'a.example', ECC), fingerprintOf(file));
  t.is(await everywhere(t, other, 'a.example', ECC), undefined);
  t.deepEqual((await node.call('GET', '/config/drift')).json, { diff: [] });
  open.send('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n');
  await open.receive(/\r\n\r\na[^]*\r\n\r\na$/);
});

test.serial('a session of the certificate before is not resumed', async (t) => {
  const node = await shared();
  const port = node.srv.port('tls');
  const resumes = async (session?: Buffer): Promise<{ session: Buffer; isReused: boolean; fingerprint: string }> => {
    const connection = await connectRawTls(t, port, { servername: 'a.example', ...ECC, ...(session && { session }) });
    const socket = connection.socket as TLSSocket;
    const isReused = socket.isSessionReused();
    const { fingerprint256 } = socket.getPeerCertificate();
    const made = socket.getSession() ?? Buffer.alloc(0);
    socket.destroy();
    return { session: made, isReused, fingerprint: fingerprint256 };
  };
  const first = await resumes();
  t.true((await resumes(first.session)).isReused);
  const place = { listens: [at(node, 'tls')], serverNames: ['a.example'] };
  const renewed = certificateFor(['a.example']);
  t.is((await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf('ecc', renewed) })).status, 200);
  const after = await resumes(first.session);
  t.false(after.isReused);
  t.is(after.fingerprint, fingerprintOf(renewed));
  t.true((await resumes(after.session)).isReused);
  t.is((await node.call('PUT', '/ssl', { type: 'del', ...place })).status, 200);
});

test.serial('the status of a certificate of the API is fetched (ssl_stapling)', async (t) => {
  const node = await shared();
  const server = { addr_port: at(node, 'tls'), server_name: 's.example' };
  const body = 'ssl_stapling on; ssl_stapling_responder http://127.0.0.1:1/; return 200';
  t.is((await node.call('POST', '/dyn_srv', { type: 'add', ...server, server_body: body })).status, 200);
  const place = { listens: [server.addr_port], serverNames: [server.server_name] };
  const issuer = selfSigned('issuer.example');
  const { cert, key } = certificateFor(['s.example'], { issuer });
  const info = infoOf('ecc', { cert: `${cert}${issuer.cert}`, key });
  t.is((await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: info })).status, 200);
  await node.srv.waitForLog(/\(111: Connection refused\) while requesting certificate status, .* certificate: "ecc of the API"/);
  t.is((await node.call('PUT', '/dyn_srv', { type: 'del', ...server })).status, 200);
});

test.serial('what clients could not use is rejected, every reason at once', async (t) => {
  const node = await shared();
  const place = { listens: [at(node, 'tls')], serverNames: ['a.example'] };
  const [good, otherKey] = [certificateFor(['x.example']), certificateFor(['y.example'])];
  const reject = async (info: object): Promise<string> => {
    const response = await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: info });
    t.is(response.status, 400);
    t.notRegex(response.body, /BEGIN|MII|MHc/);
    const { code, details } = errorOf(response);
    return [code, ...(details as { pointer: string; message: string }[]).map(({ pointer, message }) => `${pointer} ${message}`)].join('\n');
  };
  const info = (certificate: Certificate): object => infoOf('ecc', certificate);
  t.regex(
    await reject(info(certificateFor(['x.example'], { days: [-9, -1] }))),
    /^CertificateInvalid\n\/cert_info\/certificate has expired \(\d{4}-/,
  );
  t.regex(await reject(info(certificateFor(['x.example'], { days: [1, 9] }))), /certificate is not valid yet/);
  t.is(await reject({ ...info(good), cert_type: 'rsa' }), 'CertificateInvalid\n/cert_info/cert_type must be ecc');
  t.regex(await reject(infoOf('ecc', certificateFor(['x.example'], { kind: 'ed25519' }))), /cert_type must be rsa or ecc/);
  const mixed = infoOf('ecc', { cert: good.cert, key: otherKey.key });
  t.is(await reject(mixed), 'CertificateInvalid\n/cert_info/certificateKey does not fit the first certificate of the chain');
  t.is(
    await reject({ ...info(good), certificateKey: 'data:x' }),
    'CertificateInvalid\n/cert_info/certificateKey is not a private key in PEM',
  );
  t.is(await reject({ ...info(good), certificate: '/etc/passwd' }), 'CertificateInvalid\n/cert_info/certificate has no certificate in PEM');
  const short = infoOf('rsa', certificateFor(['x.example'], { kind: 'rsa', bits: 1024 }));
  t.regex(await reject(short), /^CertificateInvalid\n\/cert_info\/certificate .*ee key too small/);
  const plain = await node.call('PUT', '/ssl', { type: 'add', listens: [at(node, 'web')], cert_info: info(good) });
  t.like(errorOf(plain), { status: 400, code: 'InvalidField', details: [{ pointer: '/listens' }] });
  t.regex(errorOf(plain).text, /server "plain" .* does not speak TLS: its "listen" needs "ssl"/);
  const broken = good.cert.replace(/\n.{20}/, '\nAAAAAAAAAAAAAAAAAAAA');
  t.is(
    await reject({ ...info(good), certificate: broken }),
    'CertificateInvalid\n/cert_info/certificate has a certificate that cannot be read',
  );
  t.is(
    await reject({}),
    'InvalidField\n/cert_info/cert_type is required\n/cert_info/certificate is required\n/cert_info/certificateKey is required',
  );
  const swapped = await node.call('PUT', '/ssl', { type: 'add', listens: [good.key], cert_info: info(good) });
  t.is(errorOf(swapped).code, 'InvalidField');
  t.regex(swapped.body, /\(secret\)/);
  t.notRegex(swapped.body + node.srv.read('logs/ctrl.log'), /MIG/, 'a key in the wrong field is not quoted');
  const both = certificateFor(['x.example'], { days: [-9, -1] });
  t.is((await reject(infoOf('rsa', { cert: both.cert, key: otherKey.key }))).split('\n').length, 4, 'expired, another kind, another key');
  t.is(await everywhere(t, node.srv.port('tls'), 'a.example', ECC), fingerprintOf(file), 'nothing has changed');
});

test.serial('every server that is named has to be there, and dry runs and conditions hold', async (t) => {
  const node = await shared();
  const info = infoOf('ecc', certificateFor(['x.example']));
  const missing = await node.call('PUT', '/ssl', {
    type: 'add',
    listens: [at(node, 'tls'), '127.0.0.1:1'],
    serverNames: ['a.example', 'c.example'],
    cert_info: info,
  });
  t.is(missing.status, 404);
  t.is(errorOf(missing).code, 'ServerNotFound');
  t.is(errorOf(missing).details?.length, 3);
  t.regex(missing.body, /no server listens there; servers of \\"stream\\" have their certificates in their body/);
  const place = { listens: [at(node, 'tls')], serverNames: ['a.example'] };
  const none = await node.call('PUT', '/ssl', { type: 'del', ...place });
  t.is(none.status, 404);
  t.is(errorOf(none).code, 'CertificateNotFound');
  const { etag = '' } = (await node.call('GET', '/ssl')).headers;
  t.is((await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: info }, { 'if-match': '"0"' })).status, 412);
  const dry = await node.call('PUT', '/ssl?dry_run=1', { type: 'add', ...place, cert_info: info }, { 'if-match': etag });
  t.is(dry.status, 200, dry.body);
  t.regex(dry.body, /"\+ ssl_dynamic_certificate ecc .*data:\(secret\)/);
  t.is(await everywhere(t, node.srv.port('tls'), 'a.example', ECC), fingerprintOf(file));
  for (const body of [{ type: 'add' }, { type: 'put', ...place }, { type: 'del', listens: [] }, { type: 'del', ...place, more: 1 }])
    t.is(errorOf(await node.call('PUT', '/ssl', body)).code, 'InvalidField');
  const byDefault = await node.call('PUT', '/ssl', { type: 'add', listens: [at(node, 'tls')], cert_info: info });
  t.is(byDefault.status, 200, 'the default server of the address');
  t.is((await node.call('PUT', '/ssl', { type: 'del', ...place })).status, 200);
});

test.serial('a server of the API keeps its certificate when its body is replaced; data: stands for a file', async (t) => {
  const node = await shared();
  const [own, renewed] = [certificateFor(['dyn.example'], { kind: 'rsa' }), certificateFor(['dyn.example'])];
  const place = { addr_port: at(node, 'tls'), server_name: 'dyn.example' };
  const body = `ssl_certificate "data:${own.cert}"; ssl_certificate_key "data:${own.key}"; return 200 dyn`;
  t.is((await node.call('POST', '/dyn_srv', { type: 'add', ...place, server_body: body })).status, 200);
  const port = node.srv.port('tls');
  t.is(await everywhere(t, port, 'dyn.example', RSA), fingerprintOf(own));
  const named = { listens: [at(node, 'tls')], serverNames: ['dyn.example'] };
  t.is((await node.call('PUT', '/ssl', { type: 'add', ...named, cert_info: infoOf('ecc', renewed) })).status, 200);
  const shown = (await node.call('GET', `/dyn_srv?addr_port=${at(node, 'tls')}&server_name=dyn.example`)).body;
  t.regex(shown, /ssl_certificate_key data:\(secret\)/);
  t.notRegex(shown, /PRIVATE|ssl_dynamic_certificate/);
  t.is((await node.call('PATCH', '/dyn_srv', { ...place, server_body: 'return 200 changed' })).status, 200);
  t.is(await everywhere(t, port, 'dyn.example', ECC), fingerprintOf(renewed));
  const bad = await node.call('PATCH', '/dyn_srv', {
    ...place,
    server_body: `ssl_certificate x.pem; ssl_certificate_key "data:${own.key}" 2;`,
  });
  t.is(bad.status, 400);
  t.notRegex(bad.body, /PRIVATE|MII/);
  t.is((await node.call('PUT', '/dyn_srv', { type: 'del', ...place })).status, 200);
});

test.serial('certificates are kept through kill -9 and reloads, and are rolled back; their keys are read by nobody', async (t) => {
  // The last one: it ends the node.
  const node = await shared();
  const place = { listens: [at(node, 'tls')], serverNames: ['a.example'] };
  const [first, second] = [certificateFor(['one.example']), certificateFor(['two.example'])];
  const responses: string[] = [];
  const events = await followEvents(t, node.srv.port('api'));
  const call = async (method: string, path: string, body?: unknown): Promise<number> => {
    const response = await node.call(method, path, body);
    responses.push(response.body);
    return response.status;
  };
  t.is(await call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf('ecc', first) }), 200);
  const version = Number(((await node.call('GET', '/history?limit=1')).json as { version: number }[])[0]?.version);
  t.is(await call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf('ecc', second) }), 200);
  node.srv.signal('SIGHUP');
  await node.srv.waitForLog(/reconfigured|reload/i);
  t.is(await everywhere(t, node.srv.port('tls'), 'a.example', ECC), fingerprintOf(second));

  for (const path of ['/ssl', '/config/effective', '/config/effective?format=text', '/config/drift', '/history', '/dyn_srv'])
    responses.push((await get(node.srv.port('api'), `/api/v1${path}`)).body);
  const rolled = await node.call('POST', `/history/${version}/rollback?dry_run=1`, {});
  responses.push(rolled.body);
  const short = (certificate: Certificate): string =>
    `"data:(${new X509Certificate(certificate.cert).subject}, sha256:${fingerprintOf(certificate)})" data:(secret);`;
  const { diff } = (await node.call('GET', '/config/drift')).json as { diff: readonly string[] };
  t.true(diff.includes(`+ ssl_dynamic_certificate ecc ${short(second)}`), diff.join('\n'));
  const [newest] = (await node.call('GET', '/history')).json as { changes?: { before: string; after: string }[] }[];
  t.deepEqual(
    newest?.changes?.map(({ before, after }) => [before, after].map((text) => text.trim())),
    [[`ssl_dynamic_certificate ecc ${short(first)}`, `ssl_dynamic_certificate ecc ${short(second)}`]],
  );
  t.true(rolled.body.includes(JSON.stringify(`+ ssl_dynamic_certificate ecc ${short(first)}`)), rolled.body);
  t.is(await call('POST', `/history/${version}/rollback`, {}), 200, responses.at(-1));
  t.is(await everywhere(t, node.srv.port('tls'), 'a.example', ECC), fingerprintOf(first));

  chmodSync(node.srv.path('conf/srv.conf'), 0o644);
  t.is(await call('POST', '/config/save?dry_run=1', {}), 200);
  t.true(responses.at(-1)?.includes('"conf/srv.conf","# will have a private key, and mode 0600"'), responses.at(-1));
  t.is(await call('POST', '/config/save', {}), 200);
  t.is(statSync(node.srv.path('conf/srv.conf')).mode & 0o777, 0o600, 'it has a key now');
  t.deepEqual((await node.call('GET', '/config/drift')).json, { diff: [] });
  node.srv.signal('SIGHUP');
  await waitFor('another reload', () => (node.srv.log().match(/reconfigured/g)?.length ?? 0) === 2);
  t.is(await everywhere(t, node.srv.port('tls'), 'a.example', ECC), fingerprintOf(first), 'saved in the file');
  t.is(await call('POST', '/dyn_srv', { addr_port: at(node, 'tls'), server_name: 'later', server_body: 'return 204' }), 200);
  t.is(await call('POST', '/config/save', {}), 200);
  t.regex(node.srv.read('conf/.srv.conf.bak'), /PRIVATE KEY/);
  for (const name of ['srv.conf', '.srv.conf.bak']) t.is(statSync(node.srv.path(`conf/${name}`)).mode & 0o777, 0o600, name);
  t.is(await call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf('ecc', second) }), 200);
  const dumped = await runSrv(t, ['-T'], undefined, { prefix: node.srv.prefix });
  t.is(dumped.code, 0, dumped.stderr);
  t.is(dumped.stdout.split('data:(secret)').length - 1, 4, 'in the file, in force, and in the difference');
  responses.push(dumped.stdout, dumped.stderr);
  await waitFor('all changes', () => events.events.filter(({ type }) => type === 'config.changed').length >= 4);
  responses.push(events.text);

  await node.srv.stop('SIGKILL');
  await waitFor('the end of the helpers', () => !node.srv.hasProcesses());
  const conf = node.srv.read('conf/srv.conf');
  const files = { 'conf/ctrl.conf': node.srv.read('conf/ctrl.conf') };
  const again = new Node(await startSrv(t, conf, { prefix: node.srv.prefix, files }));
  const [, tls = '0'] = /127\.0\.0\.1:(\d+) ssl; server_name a\.example;/.exec(conf) ?? [];
  t.is(await everywhere(t, Number(tls), 'a.example', ECC), fingerprintOf(second), 'after kill -9');

  const secrets = [first, second].map(({ key }) => key.split('\n')[1] ?? 'x');
  for (const text of responses) for (const secret of secrets) t.false(text.includes(secret), text.slice(0, 300));
  t.true(responses.some((text) => text.includes('data:(secret)')));
  for (const name of readdirSync(again.srv.path('logs'))) {
    const log = readFileSync(join(again.srv.path('logs'), name), 'latin1');
    for (const secret of secrets) t.false(log.includes(secret), name);
  }
  for (const name of readdirSync(again.srv.path('data'))) {
    const path = join(again.srv.path('data'), name);
    if (statSync(path).isFile()) t.is(statSync(path).mode & 0o077, 0, name);
  }
});

test('a server of the file waits for its certificate: handshakes fail until the API has set one, and without it again', async (t) => {
  const waiting = 'server { listen 127.0.0.1:%%PORT_waits%% ssl; server_name waits.example; ssl_await_certificate on; return 200 waits; }';
  const node = await startNode(t, { ...OPTIONS, http: waiting, workers: 1 });
  const port = node.srv.port('waits');
  const alert = { message: /alert handshake failure/ };
  await t.throwsAsync(connectRawTls(t, port), alert);
  await node.srv.waitForLog(
    /\[error\] .*no "ssl_certificate" is defined .*"ssl_await_certificate" waits for one from the API .* while SSL handshaking/,
  );
  t.deepEqual(
    (await list(node)).map(({ certificates }) => certificates),
    [[]],
  );
  const certificate = selfSigned('waits.example');
  const place = { listens: [at(node, 'waits')], serverNames: ['waits.example'] };
  const added = await node.call('PUT', '/ssl', { type: 'add', ...place, cert_info: infoOf('ecc', certificate) });
  t.is(added.status, 200, added.body);
  t.is(await shownTo(t, port, 'waits.example'), fingerprintOf(certificate));
  t.is((await node.call('PUT', '/ssl', { type: 'del', ...place })).status, 200);
  await t.throwsAsync(connectRawTls(t, port), alert);
});
