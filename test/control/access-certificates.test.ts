import { X509Certificate } from 'node:crypto';
import { chmodSync } from 'node:fs';
import type { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { hashOf, makeToken, printTokenLine, scopesOf } from '../../core/control/access/token-file.js';
import { selfSigned, type Certificate } from '../harness/certificate.js';
import { connectRawTls } from '../harness/client.js';
import { shared as sharedBy } from '../harness/scope.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { startNode, upstreams, type Node } from './node.js';

const MEMBERS = '/upstream_api/http/upstreams/shop/servers';

interface Shared {
  readonly node: Node;
  readonly token: string;
  readonly server: Certificate;
  readonly deploy: Certificate;
  readonly reader: Certificate;
  readonly stranger: Certificate;
}

const TLS = 'ssl_certificate server.pem; ssl_certificate_key server.key;';
const shared = sharedBy(async (scope): Promise<Shared> => {
  const [server, deploy, reader, stranger] = ['localhost', 'deploy', 'reader', 'stranger'].map((name) => selfSigned(name)) as [
    Certificate,
    Certificate,
    Certificate,
    Certificate,
  ];
  const prefix = tempFolder(scope);
  const token = makeToken();
  const tokens = { name: 'robot', hash: hashOf(token), expires: undefined, scopes: scopesOf('robot', ['read']) };
  chmodSync(writeInto(prefix, 'conf/api_tokens', `${printTokenLine(tokens)}\n`), 0o600);
  const known = `ssl_client_certificate clients.pem; ssl_verify_client on;`;
  const api = 'location /api { dyn_module_api; }';
  const node = await startNode(scope, {
    prefix,
    files: { 'conf/server.pem': server.cert, 'conf/server.key': server.key, 'conf/clients.pem': deploy.cert + reader.cert },
    http: upstreams('shop', 'demo'),
    main: 'load_module modules/srv_http_config_module.so;',
    controlMain: 'load_module modules/srv_http_history_api_module.so;',
    control: `api_audit_log logs/audit.log; ${TLS}
      server { listen 0.0.0.0:%%PORT_scopes%% ssl; ${known} api_tokens api_tokens;
        api_client_certificate CN=deploy write upstream:shop;
        api_client_certificate sha256:${new X509Certificate(reader.cert).fingerprint256} read; ${api} }
      server { listen 0.0.0.0:%%PORT_all%% ssl; ${known} ${api} }
      server { listen 127.0.0.1:%%PORT_optional%% ssl; ssl_client_certificate clients.pem; ssl_verify_client optional;
        api_client_certificate CN=deploy write; api_tokens api_tokens; ${api} }
      server { listen 127.0.0.1:%%PORT_any%% ssl; ssl_verify_client optional_no_ca; api_client_certificate CN=deploy write;
        api_client_certificate sha256:${new X509Certificate(stranger.cert).fingerprint256} read; ${api} }
      server { listen 127.0.0.1:%%PORT_names%% ssl; server_name open.test;
        location / { return 200 "open $ssl_client_verify $ssl_client_s_dn"; } }
      server { listen 127.0.0.1:%%PORT_names%% ssl; server_name strict.test; ${known}
        location / { return 200 "$ssl_client_verify $ssl_client_s_dn $ssl_client_i_dn $ssl_client_fingerprint $ssl_client_serial"; } }`,
  });
  return { node, token, server, deploy, reader, stranger };
});

interface Call {
  readonly method?: string;
  readonly path?: string;
  readonly body?: string;
  readonly headers?: string;
  readonly host?: string;
  readonly servername?: string;
}

/** The status and the rest of a response to a client with a certificate. */
async function call(
  t: ExecutionContext,
  port: string,
  who: Certificate | undefined,
  { method = 'GET', path = `/api/v1${MEMBERS}`, body = '', headers = '', host = 'localhost', servername = 'localhost' }: Call = {},
): Promise<string> {
  const { node } = await shared();
  const client = await connectRawTls(t, node.srv.port(port), { servername, ...(who && { cert: who.cert, key: who.key }) });
  const length = body === '' ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  client.send(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${length}${headers}\r\n${body}`);
  return (await client.receiveAll()).slice('HTTP/1.1 '.length);
}

test.serial('a certificate has the scopes of its subject or fingerprint', async (t) => {
  const { deploy, reader, stranger, token } = await shared();
  const add = { method: 'POST', body: '{"server":"10.7.7.7"}' };
  t.regex(await call(t, 'scopes', reader), /^200 /);
  t.regex(await call(t, 'scopes', reader, add), /^403 [^]*InsufficientScope/);
  t.regex(await call(t, 'scopes', deploy, { path: '/api/v1/kv' }), /^403 [^]*"needed":"read module:kv"/);
  t.regex(await call(t, 'scopes', deploy, add), /^201 /);
  t.regex(await call(t, 'scopes', stranger), /^400 [^]*"the client certificate is not valid"/);
  t.regex(await call(t, 'scopes', undefined), /^400 [^]*"a client certificate is required"/);
  t.regex(
    await call(t, 'scopes', deploy, { headers: `Authorization: Bearer ${token}\r\n`, path: '/api/v1/kv' }),
    /^200 /,
    'a token goes first',
  );
  t.regex(await call(t, 'scopes', deploy, { headers: 'Authorization: Bearer srv_wrong\r\n' }), /^401 /);
});

test.serial('the subject of a certificate is the actor', async (t) => {
  const { node, deploy } = await shared();
  t.regex(await call(t, 'all', deploy, { method: 'POST', body: '{"server":"10.8.8.8"}' }), /^201 /);
  t.regex(await call(t, 'all', deploy, { path: '/api/v1/history?limit=1' }), /"actor":"CN=deploy"/);
  await node.srv.waitForLog(/"actor":"CN=deploy","auth":"certificate","client":"127\.0\.0\.1"[^\n]*"status":201/, 'logs/audit.log');
});

test.serial('with an optional certificate a token does as well, and nothing is nobody', async (t) => {
  const { deploy, reader, token } = await shared();
  t.regex(await call(t, 'optional', deploy), /^200 /);
  t.regex(await call(t, 'optional', undefined), /^401 /);
  t.regex(await call(t, 'optional', reader), /^401 /, 'valid, and not known here');
  t.regex(await call(t, 'optional', undefined, { headers: `Authorization: Bearer ${token}\r\n` }), /^200 /);
});

test.serial('without authorities a certificate counts by its fingerprint, never by its subject', async (t) => {
  const { deploy, stranger } = await shared();
  t.regex(await call(t, 'any', stranger), /^200 /);
  t.regex(await call(t, 'any', deploy), /^401 /);
  t.regex(await call(t, 'any', selfSigned('stranger')), /^401 /);
});

test.serial('variables, and the server of another name than the one of the handshake', async (t) => {
  const { deploy } = await shared();
  const shown = new X509Certificate(deploy.cert);
  const at = (servername: string, host: string) => call(t, 'names', deploy, { path: '/', servername, host });
  const fingerprint = shown.fingerprint.replaceAll(':', '').toLowerCase();
  t.true((await at('strict.test', 'strict.test')).endsWith(`SUCCESS CN=deploy CN=deploy ${fingerprint} ${shown.serialNumber}`));
  t.true((await at('open.test', 'open.test')).endsWith('open NONE '));
  t.regex(await at('open.test', 'strict.test'), /^421 /);
});

test.serial('a resumed session has the certificate that it began with', async (t) => {
  const { node, deploy } = await shared();
  const options = { servername: 'localhost', cert: deploy.cert, key: deploy.key };
  const request = `GET /api/v1${MEMBERS} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const first = await connectRawTls(t, node.srv.port('scopes'), { ...options, maxVersion });
    // That of TLS 1.2 is there after the handshake, those of TLS 1.3 come later.
    let session: Buffer | undefined = (first.socket as TLSSocket).getSession();
    first.socket.on('session', (given: Buffer) => (session = given));
    first.send(request);
    t.regex(await first.receiveAll(), /^HTTP\/1\.1 200 /);
    const second = await connectRawTls(t, node.srv.port('scopes'), { ...options, maxVersion, ...(session && { session }) });
    t.true((second.socket as TLSSocket).isSessionReused(), maxVersion);
    second.send(request);
    t.regex(await second.receiveAll(), /^HTTP\/1\.1 200 /, maxVersion);
  }
});
