/** proxy_ssl_certificate and its key by variables, in either engine. */
import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { httpsBackend, type HttpBackend } from '../harness/backends.js';
import { selfSigned, type Certificate } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { exchange, get } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { tempFolder } from '../harness/temp.js';

/** Root reads everything: then the server becomes another user. */
const USER = process.getuid?.() === 0 ? 'user daemon daemon;' : '';

const member = selfSigned('member.example');
const a = selfSigned('a.example');
const b = selfSigned('b.example');

const files = (name: string, { cert, key }: Certificate): Record<string, string> => ({
  [`conf/clients/${name}.pem`]: cert,
  [`conf/clients/${name}.key`]: key,
});

const maps = `map $who $chain { a '${a.cert}'; b '${b.cert}'; } map $who $secret { a '${a.key}'; b '${b.key}'; }
  map $who $path { a clients/a; climbs clients/../clients/a; }`;

/** By the name of a location or port. */
const SETTINGS = {
  file: 'proxy_ssl_certificate clients/$who.pem; proxy_ssl_certificate_key clients/$who.key;',
  cached:
    'proxy_ssl_certificate clients/$who.pem; proxy_ssl_certificate_key clients/$who.key; proxy_ssl_certificate_cache max=10 valid=1h;',
  data: 'proxy_ssl_certificate data:$chain; proxy_ssl_certificate_key data:$secret;',
  mapped: 'proxy_ssl_certificate $path.pem; proxy_ssl_certificate_key $path.key;',
} as const;
type Place = keyof typeof SETTINGS;

/** Tells whose certificate it has seen, and over which connection. */
function startMember(scope: Scope): Promise<HttpBackend> {
  return httpsBackend(scope, { ...member, requestCert: true, rejectUnauthorized: false }, ({ socket }, response) => {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    response.end(`[${String(subject?.CN ?? '')}] ${socket.remotePort}`);
  });
}

async function startSite(scope: Scope): Promise<Srv> {
  const { port } = await startMember(scope);
  const prefix = tempFolder(scope, {
    ...files('a', a),
    ...files('b', b),
    ...files('unreadable', a),
    ...files('mixed', { cert: a.cert, key: b.key }),
    'conf/outside.pem': a.cert,
    'conf/outside.key': a.key,
  });
  chmodSync(prefix, 0o755);
  mkdirSync(join(prefix, 'logs'));
  chmodSync(join(prefix, 'conf/clients/unreadable.key'), 0);
  const places = Object.entries(SETTINGS);
  const locations = places.map(([name, lines]) => `location /${name} { ${lines} proxy_pass https://members; }`);
  const servers = ['a', 'none'].flatMap((who) =>
    places.map(
      ([name, lines]) => `server { listen 127.0.0.1:%%PORT_${who}_${name}%%; set $who ${who}; proxy_pass 127.0.0.1:${port}; ${lines} }`,
    ),
  );
  return startSrv(
    scope,
    `${USER} error_log logs/error.log info; events {}
    http { map $arg_who $who { default $arg_who; } ${maps} upstream members { server 127.0.0.1:${port}; keepalive 200; }
      server { listen 127.0.0.1:%%PORT_web%%; location = /plain { proxy_pass https://members; } ${locations.join('\n')}
        location /optional { proxy_ssl_certificate $arg_path; proxy_ssl_certificate_key $arg_path; proxy_pass https://members; }
        location /by-scheme { ${SETTINGS.file} proxy_pass $arg_scheme://members; } } }
    stream { ${maps} proxy_ssl on; ${servers.join('\n')} }`,
    { prefix },
  );
}

const site = shared(startSite);

async function ask(place: Place | 'optional', query: string): Promise<{ status: number; name: string; connection: string }> {
  const { status, body } = await get((await site()).port('web'), `/${place}?${query}`);
  const [, name = '', connection = ''] = /^\[(.*)\] (\d+)$/.exec(body) ?? [];
  return { status, name, connection };
}

for (const place of ['file', 'cached', 'data'] as const)
  test.serial(`http, ${place}: each request shows its certificate, and kept connections are for requests with the same one`, async (t) => {
    const first = { a: await ask(place, 'who=a'), b: await ask(place, 'who=b') };
    t.is(first.a.name, 'a.example');
    t.is(first.b.name, 'b.example');
    for (const who of ['a', 'a', 'b', 'a', 'b'] as const) t.deepEqual(await ask(place, `who=${who}`), first[who]);
    t.notRegex((await site()).log(), /PRIVATE|BEGIN/);
  });

test('http: requests at the same time', async (t) => {
  const names = Array.from({ length: 40 }, (_, at) => (at % 3 === 0 ? 'a' : 'b'));
  for (const place of ['file', 'cached', 'data'] as const) {
    const seen = await Promise.all(names.map((who) => ask(place, `who=${who}`)));
    t.deepEqual(
      seen.map(({ name }) => name),
      names.map((who) => `${who}.example`),
      place,
    );
  }
});

test('http: an empty name is no certificate, and never that of the request before', async (t) => {
  t.like(await ask('optional', ''), { status: 200, name: '' });
  t.like(await ask('mapped', 'who=a'), { status: 200, name: 'a.example' });
  t.like(await ask('optional', ''), { status: 200, name: '' });
});

const status = async (place: Place, who: string): Promise<number> => (await ask(place, `who=${who}`)).status;

test('http: a certificate that cannot be used is logged, and the request is not passed', async (t) => {
  const srv = await site();
  t.is(await status('file', 'a'), 200, 'there is a connection that could be used');
  t.is(await status('file', 'missing'), 500);
  await srv.waitForLog(
    /\[error\] .*cannot load certificate ".*conf\/clients\/missing\.pem": 2: No such file or directory while connecting to upstream/,
  );
  t.is(await status('file', 'mixed'), 500);
  await srv.waitForLog(/cannot use the certificate of "proxy_ssl_certificate": .*key values mismatch while connecting to upstream/);
  for (const who of ['../outside', '..', 'x/../a', '%00']) t.is(await status('file', who), 500, who);
  t.is(await status('mapped', 'climbs'), 500);
  await srv.waitForLog(/it is outside of its folder while connecting to upstream/);
  t.is(await status('data', 'missing'), 200, 'it is empty');
  t.is(await status('file', 'a'), 200, 'others are not concerned');
  t.notRegex(srv.log(), /PRIVATE|BEGIN/);
});

test('http: a scheme that is known with the request only', async (t) => {
  const { body } = await get((await site()).port('web'), '/by-scheme?scheme=https&who=b');
  t.regex(body, /^\[b\.example\]/);
});

test.serial('http: a renewed file makes new connections, with a cache when its time is over', async (t) => {
  const srv = await site();
  const replace = (certificate: Certificate): void => {
    for (const [name, text] of Object.entries(files('renewed', certificate))) {
      const path = join(srv.prefix, name);
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    }
  };
  replace(a);
  for (const place of ['file', 'cached'] as const) t.is((await ask(place, 'who=renewed')).name, 'a.example', place);
  replace(b);
  t.is((await ask('file', 'who=renewed')).name, 'b.example');
  t.is((await ask('cached', 'who=renewed')).name, 'a.example');
});

async function overStream(t: ExecutionContext, port: string): Promise<string> {
  return exchange(t, (await site()).port(port), 'GET / HTTP/1.0\r\n\r\n');
}

test('stream: each session shows its certificate', async (t) => {
  const srv = await site();
  for (const place of Object.keys(SETTINGS)) t.regex(await overStream(t, `a_${place}`), /\[a\.example\] \d+$/, place);
  for (const place of ['file', 'cached']) t.is(await overStream(t, `none_${place}`), '', place);
  await srv.waitForLog(
    /\[error\] .*cannot load certificate ".*conf\/clients\/none\.pem": 2: No such file or directory while connecting to upstream/,
  );
  t.regex(await overStream(t, 'none_data'), /\[\] \d+$/);
});

test('a file that the user of the server may not read is an error that says so', async (t) => {
  t.is((await ask('file', 'who=unreadable')).status, 500);
  await (
    await site()
  ).waitForLog(
    /cannot load certificate key ".*\/unreadable\.key": 13: Permission denied, files that variables name are read by the user of the server: let it read this one while/,
  );
});

const location = (lines: string): string =>
  `events {} http { server { listen 127.0.0.1:%%PORT_web%%; location / { proxy_pass https://127.0.0.1:1; ${lines} } } }`;
const session = (lines: string): string =>
  `events {} stream { server { listen 127.0.0.1:%%PORT_web%%; proxy_ssl on; proxy_pass 127.0.0.1:1; ${lines} } }`;

for (const [engine, conf] of Object.entries({ http: location, stream: session }))
  test(`${engine}: files that variables name are not looked for by a check; what is wrong with the directives is`, async (t) => {
    const errors = async (lines: string): Promise<string> => {
      const { code, stderr } = await check(t, conf(lines));
      return code === 0 ? '' : stderr;
    };
    t.is(await errors('proxy_ssl_certificate nowhere/$connection.pem; proxy_ssl_certificate_key nowhere/$connection.key;'), '');
    t.is(
      await errors(
        'proxy_ssl_certificate $connection; proxy_ssl_certificate_key $connection; proxy_ssl_certificate_cache max=1000 inactive=20s valid=1m;',
      ),
      '',
    );
    t.regex(
      await errors('proxy_ssl_certificate $connection.pem;'),
      /no "proxy_ssl_certificate_key" is defined for certificate "\$connection\.pem"/,
    );
    t.regex(await errors('proxy_ssl_certificate $nothing; proxy_ssl_certificate_key $nothing;'), /unknown "nothing" variable/);
    t.regex(await errors('proxy_ssl_certificate_cache valid=1m;'), /"proxy_ssl_certificate_cache" must have the "max" parameter/);
    t.regex(
      await errors('proxy_ssl_certificate nowhere.pem; proxy_ssl_certificate_key $connection.key;'),
      /cannot load "proxy_ssl_certificate" ".*nowhere\.pem": .*No such file/,
    );
  });
