import type { ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { check } from '../harness/check.js';
import { httpsBackend, type HttpBackend } from '../harness/backends.js';
import { selfSigned } from '../harness/certificate.js';
import { get } from '../harness/client.js';
import { startSrv, type Srv } from '../harness/srv.js';

const BACKEND = selfSigned('backend.example');
const OTHER = selfSigned('backend.example');
const CLIENT = selfSigned('client.example');

const FILES = {
  'conf/backend.pem': BACKEND.cert,
  'conf/other.pem': OTHER.cert,
  'conf/client.pem': CLIENT.cert,
  'conf/client.key': CLIENT.key,
};

/** Says what it has seen of the handshake. */
function backend(t: ExecutionContext, options: ServerOptions = {}): Promise<HttpBackend> {
  return httpsBackend(t, { ...BACKEND, ...options }, (request, response) => {
    const socket = request.socket as TLSSocket;
    const { subject } = socket.getPeerCertificate();
    response.end(
      `${String(socket.getProtocol())} [${socket.servername || ''}] [${String(subject?.CN ?? '')}] ${socket.authorized} ${socket.isSessionReused() ? 'resumed' : 'new'}`,
    );
  });
}

/** A location for each set of directives. */
function start(t: ExecutionContext, port: number, locations: Record<string, string>): Promise<Srv> {
  const blocks = Object.entries(locations).map(([path, directives]) => `location ${path} { proxy_pass https://group; ${directives} }`);
  return startSrv(
    t,
    `error_log logs/error.log info; events {} http {
      upstream group { server 127.0.0.1:${port}; keepalive 0; }
      upstream kept { server 127.0.0.1:${port}; keepalive 8; }
      server { listen 127.0.0.1:%%PORT_web%%; ${blocks.join('\n')}
        location /kept/ { proxy_pass https://kept; proxy_ssl_server_name on; location /kept/a { proxy_pass https://kept; proxy_ssl_name a.example; }
          location /kept/b { proxy_pass https://kept; proxy_ssl_name b.example; } } } }`,
    { files: FILES },
  );
}

const TRUSTED = 'proxy_ssl_verify on; proxy_ssl_trusted_certificate backend.pem; proxy_ssl_name backend.example;';

test('proxy_ssl_verify: the certificate of a member is verified, and for the name', async (t) => {
  const { port } = await backend(t);
  const srv = await start(t, port, {
    '/off': '',
    '/good': TRUSTED,
    '/port': TRUSTED.replace('backend.example', 'backend.example:443'),
    '/variable': TRUSTED.replace('backend.example', '$arg_name'),
    '/distrusted': TRUSTED.replace('backend.pem', 'other.pem'),
    '/default': TRUSTED.replace('proxy_ssl_name backend.example;', ''),
  });
  const status = async (path: string): Promise<number> => (await get(srv.port('web'), path)).status;
  t.is(await status('/off'), 200);
  t.is(await status('/good'), 200);
  t.is(await status('/port'), 200);
  t.is(await status('/variable?name=backend.example'), 200);
  t.is(await status('/distrusted'), 502);
  await srv.waitForLog(/\[error\].* upstream SSL certificate verify error: \(self-signed certificate\) while .* upstream/);
  t.is(await status('/variable?name=evil.example'), 502);
  await srv.waitForLog(/\[error\].* upstream SSL certificate does not match "evil\.example" while .* upstream/);
  t.is(await status('/default'), 502, 'the name is that of the upstream');
  await srv.waitForLog(/does not match "group"/);
});

test('a session that was made without a check is not resumed for one with it', async (t) => {
  const { port } = await backend(t);
  const srv = await start(t, port, { '/off': '', '/distrusted': TRUSTED.replace('backend.pem', 'other.pem') });
  for (let at = 0; at < 3; at++) {
    t.is((await get(srv.port('web'), '/off')).status, 200);
    t.is((await get(srv.port('web'), '/distrusted')).status, 502);
  }
});

test('proxy_ssl_server_name: the name is sent', async (t) => {
  const { port } = await backend(t);
  const srv = await start(t, port, {
    '/off': 'proxy_ssl_name sni.example;',
    '/on': 'proxy_ssl_server_name on; proxy_ssl_name sni.example;',
    '/default': 'proxy_ssl_server_name on;',
    '/address': 'proxy_ssl_server_name on; proxy_ssl_name 127.0.0.1;',
  });
  const name = async (path: string): Promise<string | undefined> => /\[(.*?)\]/.exec((await get(srv.port('web'), path)).body)?.[1];
  t.is(await name('/off'), '');
  t.is(await name('/on'), 'sni.example');
  t.is(await name('/default'), 'group');
  t.is(await name('/address'), '', 'RFC 6066, 3: no addresses');
});

test('an idle connection is for requests with the same name only', async (t) => {
  const { port } = await backend(t);
  const srv = await start(t, port, {});
  const name = async (path: string): Promise<string | undefined> => /\[(.*?)\]/.exec((await get(srv.port('web'), path)).body)?.[1];
  for (let at = 0; at < 3; at++) {
    t.is(await name('/kept/a'), 'a.example');
    t.is(await name('/kept/b'), 'b.example');
  }
});

test('an idle connection to an address without an upstream is for requests with the same settings only', async (t) => {
  const { port } = await backend(t, { requestCert: true, rejectUnauthorized: false, ca: CLIENT.cert });
  const direct = (settings: string): string => `proxy_pass https://127.0.0.1:${port}; ${settings}`;
  const srv = await startSrv(
    t,
    `events {} http { proxy_http_version 1.1; proxy_set_header Connection ""; server { listen 127.0.0.1:%%PORT_web%%;
      location /old { ${direct('proxy_ssl_protocols TLSv1.2;')} }
      location /plain { ${direct('')} }
      location /shown { ${direct('proxy_ssl_certificate client.pem; proxy_ssl_certificate_key client.key;')} }
      location /named { ${direct('proxy_ssl_server_name on; proxy_ssl_name $arg_name;')} }
      location /checked { ${direct(TRUSTED)} } location /distrusted { ${direct(TRUSTED.replace('backend.pem', 'other.pem'))} } } }`,
    { files: FILES },
  );
  const expected: Readonly<Record<string, RegExp>> = {
    '/old': /^TLSv1\.2 \[\] \[\]/,
    '/plain': /^TLSv1\.3 \[\] \[\]/,
    '/shown': /^TLSv1\.3 \[\] \[client\.example\]/,
    '/named?name=a.example': /^TLSv1\.3 \[a\.example\]/,
    '/named?name=b.example': /^TLSv1\.3 \[b\.example\]/,
    '/checked': /^TLSv1\.3 \[\] \[\]/,
    '/distrusted': /502 Bad Gateway/,
  };
  for (let round = 0; round < 3; round++)
    for (const [path, body] of Object.entries(expected)) t.regex((await get(srv.port('web'), path)).body, body, path);
});

test('proxy_ssl_certificate is shown to a member that asks', async (t) => {
  const { port } = await backend(t, { requestCert: true, rejectUnauthorized: false, ca: CLIENT.cert });
  const srv = await start(t, port, { '/none': '', '/shown': 'proxy_ssl_certificate client.pem; proxy_ssl_certificate_key client.key;' });
  t.regex((await get(srv.port('web'), '/none')).body, /\[\] false/);
  t.regex((await get(srv.port('web'), '/shown')).body, /\[client\.example\] true/);
});

test('proxy_ssl_alpn: protocols that are offered', async (t) => {
  const { port } = await backend(t, { ALPNProtocols: ['own/2', 'own/1'] });
  const srv = await start(t, port, { '/own': 'proxy_ssl_alpn own/1 http/1.1;', '/other': 'proxy_ssl_alpn http/1.1;' });
  t.is((await get(srv.port('web'), '/own')).status, 200);
  t.is((await get(srv.port('web'), '/other')).status, 502, 'the member speaks none of them');
});

test('proxy_ssl_protocols and proxy_ssl_ciphers', async (t) => {
  const { port } = await backend(t, { ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256' });
  const srv = await start(t, port, {
    '/12': 'proxy_ssl_protocols TLSv1.2;',
    '/13': 'proxy_ssl_protocols TLSv1.2 TLSv1.3;',
    '/cipher': 'proxy_ssl_protocols TLSv1.2; proxy_ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256;',
    '/other': 'proxy_ssl_protocols TLSv1.2; proxy_ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384;',
  });
  t.regex((await get(srv.port('web'), '/12')).body, /^TLSv1\.2 /);
  t.regex((await get(srv.port('web'), '/13')).body, /^TLSv1\.3 /);
  t.is((await get(srv.port('web'), '/cipher')).status, 200);
  t.is((await get(srv.port('web'), '/other')).status, 502);
  await srv.waitForLog(/\[error\].* SSL_do_handshake\(\) failed \(.*\) while .* upstream/);
});

test('proxy_ssl_session_reuse: sessions with a member are resumed', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { port } = await backend(t, { maxVersion });
    const srv = await start(t, port, { '/on': '', '/off': 'proxy_ssl_session_reuse off;' });
    const ask = async (path: string): Promise<string | undefined> => (await get(srv.port('web'), path)).body.split(' ').at(-1);
    t.is(await ask('/on'), 'new', maxVersion);
    t.is(await ask('/on'), 'resumed', maxVersion);
    t.is(await ask('/on'), 'resumed', maxVersion);
    t.is(await ask('/off'), 'new', maxVersion);
    t.is(await ask('/off'), 'new', maxVersion);
  }
});

const REJECTED: Readonly<Record<string, RegExp>> = {
  'proxy_ssl_verify on;': /no proxy_ssl_trusted_certificate for proxy_ssl_verify in /,
  'proxy_ssl_certificate client.pem;': /no "proxy_ssl_certificate_key" is defined for certificate ".*client\.pem" in /,
  'proxy_ssl_certificate none.pem; proxy_ssl_certificate_key client.key;':
    /cannot load "proxy_ssl_certificate" ".*none\.pem": .*2: No such file/,
  'proxy_ssl_certificate other.pem; proxy_ssl_certificate_key client.key;':
    /cannot use the certificates of "proxy_ssl_\*": .*key values mismatch/,
};

for (const [directives, expected] of Object.entries(REJECTED)) {
  test(`rejected: ${directives}`, async (t) => {
    const conf = `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass https://127.0.0.1:1; ${directives} } } }`;
    const { code, stderr } = await check(t, conf, FILES);
    t.is(code, 1);
    t.regex(stderr, expected);
  });
}
