import type { ServerOptions } from 'node:https';
import type { TLSSocket } from 'node:tls';
import test from 'ava';
import { check } from '../harness/check.js';
import { httpsBackend, type HttpBackend } from '../harness/backends.js';
import { certificateFor, selfSigned } from '../harness/certificate.js';
import { get, type HttpResponse } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv } from '../harness/srv.js';

const BACKEND = selfSigned('backend.example');
const OTHER = selfSigned('backend.example');
const CLIENT = selfSigned('client.example');
const ROOT = selfSigned('root');
const BETWEEN = certificateFor(['between'], { issuer: ROOT });
const ISSUED = certificateFor(['*.wild.example'], { issuer: BETWEEN });

const FILES = {
  'conf/backend.pem': BACKEND.cert,
  'conf/other.pem': OTHER.cert,
  'conf/client.pem': CLIENT.cert,
  'conf/client.key': CLIENT.key,
  'conf/garbage.pem': 'garbage',
  'conf/broken.pem': ROOT.cert + ROOT.cert.replace(/^(.*\n.{4}).{8}/, '$1AAAAAAAA'),
  'conf/root.pem': ROOT.cert,
};

/** Says what it has seen of the handshake. */
function backend(t: Scope, options: ServerOptions = {}): Promise<HttpBackend> {
  return httpsBackend(t, { ...BACKEND, ...options }, (request, response) => {
    const socket = request.socket as TLSSocket;
    const { subject } = socket.getPeerCertificate();
    response.end(
      `${String(socket.getProtocol())} [${socket.servername || ''}] [${String(subject?.CN ?? '')}] ${socket.authorized} ${socket.isSessionReused() ? 'resumed' : 'new'}`,
    );
  });
}

const TRUSTED = 'proxy_ssl_verify on; proxy_ssl_trusted_certificate backend.pem; proxy_ssl_name backend.example;';
const DISTRUSTED = TRUSTED.replace('backend.pem', 'other.pem');

const CHAINED = 'proxy_ssl_verify on; proxy_ssl_trusted_certificate root.pem;';

interface Site {
  /** Of its member. */
  readonly options?: ServerOptions;
  /** Directives of each location. */
  readonly locations: Readonly<Record<string, string>>;
}

const REUSED = { '/on': '', '/off': 'proxy_ssl_session_reuse off;' };

/** For each test a server, and an upstream of the same name with one member: no other test has made a session there. */
const SITES = {
  verified: {
    locations: {
      '/off': '',
      '/good': TRUSTED,
      '/port': TRUSTED.replace('backend.example', 'backend.example:443'),
      '/variable': TRUSTED.replace('backend.example', '$arg_name'),
      '/distrusted': DISTRUSTED,
      '/default': TRUSTED.replace('proxy_ssl_name backend.example;', ''),
    },
  },
  chained: {
    options: { key: ISSUED.key, cert: ISSUED.cert + BETWEEN.cert },
    locations: {
      '/depth': `${CHAINED} proxy_ssl_name $arg_name;`,
      '/none': `${CHAINED} proxy_ssl_name a.wild.example; proxy_ssl_verify_depth 0;`,
    },
  },
  unchecked: { locations: { '/off': '', '/distrusted': DISTRUSTED } },
  named: {
    locations: {
      '/off': 'proxy_ssl_name sni.example;',
      '/on': 'proxy_ssl_server_name on; proxy_ssl_name sni.example;',
      '/default': 'proxy_ssl_server_name on;',
      '/address': 'proxy_ssl_server_name on; proxy_ssl_name 127.0.0.1;',
    },
  },
  kept: {
    locations: {
      '/a': 'proxy_ssl_server_name on; proxy_ssl_name a.example;',
      '/b': 'proxy_ssl_server_name on; proxy_ssl_name b.example;',
    },
  },
  shown: {
    options: { requestCert: true, rejectUnauthorized: false, ca: CLIENT.cert },
    locations: { '/none': '', '/shown': 'proxy_ssl_certificate client.pem; proxy_ssl_certificate_key client.key;' },
  },
  offered: {
    options: { ALPNProtocols: ['own/2', 'own/1'] },
    locations: { '/own': 'proxy_ssl_alpn own/1 http/1.1;', '/other': 'proxy_ssl_alpn http/1.1;', '/none': '' },
  },
  ciphers: {
    options: { ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES128-GCM-SHA256' },
    locations: {
      '/12': 'proxy_ssl_protocols TLSv1.2;',
      '/13': 'proxy_ssl_protocols TLSv1.2 TLSv1.3;',
      '/cipher': 'proxy_ssl_protocols TLSv1.2; proxy_ssl_ciphers ECDHE-ECDSA-AES128-GCM-SHA256;',
      '/other': 'proxy_ssl_protocols TLSv1.2; proxy_ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384;',
    },
  },
  reused12: { options: { maxVersion: 'TLSv1.2' }, locations: REUSED },
  reused13: { options: { maxVersion: 'TLSv1.3' }, locations: REUSED },
} as const satisfies Readonly<Record<string, Site>>;

const started = shared(async (scope) => {
  const blocks = Object.entries<Site>(SITES).map(async ([name, { options, locations }]) => {
    const { port } = await backend(scope, options);
    const places = Object.entries(locations).map(([path, directives]) => `location ${path} { proxy_pass https://${name}; ${directives} }`);
    return `upstream ${name} { server 127.0.0.1:${port}; keepalive ${name === 'kept' ? 8 : 0}; }
      server { listen 127.0.0.1:%%PORT_${name}%%; ${places.join('\n')} }`;
  });
  const conf = `error_log logs/error.log info; events {} http { ${(await Promise.all(blocks)).join('\n')} }`;
  return startSrv(scope, conf, { files: FILES });
});

/** Sends a request to the server of a test. */
const ask = async (site: keyof typeof SITES, path: string): Promise<HttpResponse> => get((await started()).port(site), path);
/** The name that the member was sent. */
const nameSent = async (site: keyof typeof SITES, path: string): Promise<string | undefined> =>
  /\[(.*?)\]/.exec((await ask(site, path)).body)?.[1];

const chained = async (path: string): Promise<number> => (await ask('chained', path)).status;
const statusOf = async (path: string): Promise<number> => (await ask('verified', path)).status;

test('proxy_ssl_verify: the certificate of a member is verified, and for the name', async (t) => {
  const srv = await started();
  t.is(await statusOf('/off'), 200);
  t.is(await statusOf('/good'), 200);
  t.is(await statusOf('/port'), 200);
  t.is(await statusOf('/variable?name=backend.example'), 200);
  t.is(await statusOf('/distrusted'), 502);
  await srv.waitForLog(
    /\[error\].* upstream SSL certificate verify error: \(18:self-signed certificate\) while SSL handshaking to upstream/,
  );
  t.is(await statusOf('/variable?name=evil.example'), 502);
  await srv.waitForLog(/\[error\].* upstream SSL certificate does not match "evil\.example" while .* upstream/);
  t.is(await statusOf('/default'), 502, 'the name is that of the upstream');
  await srv.waitForLog(/does not match "verified"/);
});

test('proxy_ssl_verify_depth: certificates between that of a member and a trusted one', async (t) => {
  const srv = await started();
  t.is(await chained('/depth?name=a.wild.example'), 200);
  t.is(await chained('/depth?name=a.wild.example'), 200, 'the session is resumed');
  t.is(await chained('/none'), 502);
  await srv.waitForLog(/upstream SSL certificate verify error: \(22:certificate chain too long\) while SSL handshaking to upstream/);
  for (const name of ['wild.example', 'b.a.wild.example', '127.0.0.1', '::1', '%25', 'a.wild.example%00']) {
    t.is(await chained(`/depth?name=${name}`), 502, name);
  }
});

test('a session that was made without a check is not resumed for one with it', async (t) => {
  for (let at = 0; at < 3; at++) {
    t.is((await ask('unchecked', '/off')).status, 200);
    t.is((await ask('unchecked', '/distrusted')).status, 502);
  }
});

test('proxy_ssl_server_name: the name is sent', async (t) => {
  t.is(await nameSent('named', '/off'), '');
  t.is(await nameSent('named', '/on'), 'sni.example');
  t.is(await nameSent('named', '/default'), 'named');
  t.is(await nameSent('named', '/address'), '', 'RFC 6066, 3: no addresses');
});

test('an idle connection is for requests with the same name only', async (t) => {
  for (let at = 0; at < 3; at++) {
    t.is(await nameSent('kept', '/a'), 'a.example');
    t.is(await nameSent('kept', '/b'), 'b.example');
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
      location /checked { ${direct(TRUSTED)} } location /distrusted { ${direct(DISTRUSTED)} } } }`,
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
  t.regex((await ask('shown', '/none')).body, /\[\] false/);
  t.regex((await ask('shown', '/shown')).body, /\[client\.example\] true/);
});

test('proxy_ssl_alpn: protocols that are offered', async (t) => {
  t.is((await ask('offered', '/own')).status, 200);
  t.is((await ask('offered', '/other')).status, 502, 'the member speaks none of them');
  t.is((await ask('offered', '/none')).status, 200, 'nothing is offered');
});

test('proxy_ssl_protocols and proxy_ssl_ciphers', async (t) => {
  t.regex((await ask('ciphers', '/12')).body, /^TLSv1\.2 /);
  t.regex((await ask('ciphers', '/13')).body, /^TLSv1\.3 /);
  t.is((await ask('ciphers', '/cipher')).status, 200);
  t.is((await ask('ciphers', '/other')).status, 502);
  await (await started()).waitForLog(/\[error\].* SSL_do_handshake\(\) failed \(.*\) while .* upstream/);
});

test('proxy_ssl_session_reuse: sessions with a member are resumed', async (t) => {
  for (const site of ['reused12', 'reused13'] as const) {
    const session = async (path: string): Promise<string | undefined> => (await ask(site, path)).body.split(' ').at(-1);
    t.is(await session('/on'), 'new', site);
    t.is(await session('/on'), 'resumed', site);
    t.is(await session('/on'), 'resumed', site);
    t.is(await session('/off'), 'new', site);
    t.is(await session('/off'), 'new', site);
  }
});

const REJECTED: Readonly<Record<string, RegExp>> = {
  'proxy_ssl_verify on;': /no proxy_ssl_trusted_certificate for proxy_ssl_verify in /,
  'proxy_ssl_certificate client.pem;': /no "proxy_ssl_certificate_key" is defined for certificate ".*client\.pem" in /,
  'proxy_ssl_certificate none.pem; proxy_ssl_certificate_key client.key;':
    /cannot load "proxy_ssl_certificate" ".*none\.pem": .*2: No such file/,
  'proxy_ssl_certificate other.pem; proxy_ssl_certificate_key client.key;':
    /cannot use the certificates of "proxy_ssl_\*": .*key values mismatch/,
  'proxy_ssl_ciphers NIX;': /SSL_CTX_set_cipher_list\("NIX"\) failed \(SSL: error:.*no cipher match\) in /,
  'proxy_ssl_trusted_certificate garbage.pem;': /cannot load certificate ".*garbage\.pem": no certificate found in /,
  'proxy_ssl_verify on; proxy_ssl_trusted_certificate broken.pem;': /cannot load certificate ".*broken\.pem": certificate 2 of 2: /,
  'proxy_ssl_crl none.crl;': /cannot load CRL ".*none\.crl": .*2: No such file/,
};

for (const [directives, expected] of Object.entries(REJECTED)) {
  test(`rejected: ${directives}`, async (t) => {
    const conf = `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass https://127.0.0.1:1; ${directives} } } }`;
    const { code, stderr } = await check(t, conf, FILES);
    t.is(code, 1);
    t.regex(stderr, expected);
  });
}
