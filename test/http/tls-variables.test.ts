/** What variables of either engine tell of a TLS connection. */
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { usesEpoll } from '../harness/event-methods.js';
import { selfSigned } from '../harness/certificate.js';
import { connectRawTls } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

const own = selfSigned('own.example');
const client = selfSigned('dé/p+loy, "x"');

const NAMES = ['curve', 'curves', 'ciphers', 'sigalgs', 'session_id', 'sigalg', 'client_sigalg', 'ech_status', 'ech_outer_server_name'];
const OF_CLIENT = ['client_s_dn', 'client_s_dn_legacy', 'client_i_dn_legacy', 'client_raw_cert', 'client_cert', 'client_escaped_cert'];
const text = [...NAMES, ...OF_CLIENT].map((name) => `${name}=[$ssl_${name}]`).join('|');

function startSite(scope: Scope): Promise<Srv> {
  const tls = 'ssl; ssl_certificate own.pem; ssl_certificate_key own.key; ssl_verify_client optional_no_ca;';
  return startSrv(
    scope,
    `events {}
    http { server { listen 127.0.0.1:%%PORT_http%% ${tls} return 200 "${text}|early=[$ssl_early_data]"; } }
    stream { server { listen 127.0.0.1:%%PORT_stream%% ${tls} return "${text}"; } }`,
    { files: { 'conf/own.pem': own.cert, 'conf/own.key': own.key } },
  );
}

const site = shared(startSite);

interface Visit {
  readonly socket: TLSSocket;
  readonly values: Readonly<Record<string, string>>;
}

async function visit(t: ExecutionContext, engine: string, options: ConnectionOptions): Promise<Visit> {
  const connection = await connectRawTls(t, (await site()).port(engine), options);
  connection.send('GET / HTTP/1.0\r\n\r\n');
  const received = await connection.receiveAll();
  const values = Array.from(received.matchAll(/(\w+)=\[(.*?)\](?:\||$)/gs), ([, name = '', value = '']) => [name, value] as const);
  return { socket: connection.socket as TLSSocket, values: Object.fromEntries(values) };
}

for (const engine of ['http', 'stream']) {
  test(`${engine}: what the client offers, and what was agreed on, with OpenSSL's names`, async (t) => {
    const { values } = await visit(t, engine, {
      ecdhCurve: 'P-384:P-256',
      ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384',
      sigalgs: 'ECDSA+SHA256:RSA-PSS+SHA512',
    });
    t.is(values.curve, 'prime256v1');
    t.is(values.curves, 'secp384r1:prime256v1');
    t.regex(values.ciphers ?? '', /^TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384(?::TLS_EMPTY_RENEGOTIATION_INFO_SCSV)?$/);
    t.is(values.sigalgs, 'ecdsa_secp256r1_sha256:rsa_pss_rsae_sha512');
  });

  (usesEpoll ? test : test.skip)(`${engine}: the algorithms with which either side has signed the handshake`, async (t) => {
    const { values } = await visit(t, engine, { ...client, sigalgs: 'ECDSA+SHA256' });
    t.deepEqual([values.sigalg, values.client_sigalg], ['ecdsa_secp256r1_sha256', 'ecdsa_secp256r1_sha256']);
  });

  test(`${engine}: the group of TLS 1.2, and of a session that is resumed, with its id`, async (t) => {
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const options: ConnectionOptions = { ecdhCurve: 'X25519:P-256', minVersion: version, maxVersion: version };
      const connection = await connectRawTls(t, (await site()).port(engine), options);
      const socket = connection.socket as TLSSocket;
      // That of TLS 1.3 comes after the handshake.
      const session = version === 'TLSv1.2' ? socket.getSession() : new Promise<Buffer>((resolve) => socket.once('session', resolve));
      connection.send('GET / HTTP/1.0\r\n\r\n');
      await connection.receiveAll();
      const { values } = await visit(t, engine, { ...options, session: await session });
      t.is(values.curve, 'X25519', version);
      t.regex(values.session_id ?? '', /^[0-9a-f]{64}$/, version);
    }
  });

  test(`${engine}: the certificate of the client in every form`, async (t) => {
    const { values } = await visit(t, engine, client);
    t.is(values.client_s_dn, String.raw`CN=d\C3\A9/p\+loy\, \"x\"`);
    t.is(values.client_s_dn_legacy, String.raw`/CN=d\xC3\xA9\/p\+loy, "x"`);
    t.is(values.client_i_dn_legacy, values.client_s_dn_legacy);
    t.is(values.client_raw_cert, client.cert);
    t.is(values.client_cert, client.cert.trimEnd().replaceAll('\n', '\n\t'));
    t.is(decodeURIComponent(values.client_escaped_cert ?? ''), client.cert);
  });

  test(`${engine}: variables without a value are empty`, async (t) => {
    const { values } = await visit(t, engine, {});
    const empty = ['client_sigalg', 'ech_status', 'ech_outer_server_name', ...OF_CLIENT, ...(engine === 'http' ? ['early'] : [])];
    for (const name of empty) t.is(values[name], '', name);
  });
}
