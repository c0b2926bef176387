/** Certificates whose files, or whose text, variables name, in either engine. */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { certificateFor, selfSigned, type Certificate } from '../harness/certificate.js';
import { check } from '../harness/check.js';
import { connectRawTls } from '../harness/client.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';

const a = selfSigned('a.example');
const b = certificateFor(['b.example'], { kind: 'rsa' });
const other = selfSigned('other.example');

const files = (name: string, { cert, key }: Certificate): Record<string, string> => ({
  [`conf/names/${name}.pem`]: cert,
  [`conf/names/${name}.key`]: key,
});

const quoted = (text: string): string => `'${text}'`;

/** By the name of a port. */
const SETTINGS = {
  file: 'ssl_certificate names/$ssl_server_name.pem; ssl_certificate_key names/$ssl_server_name.key;',
  captured: 'server_name ~^(?<name>[ab])\\.; ssl_certificate names/$name.example.pem; ssl_certificate_key names/$name.example.key;',
  cached: `ssl_certificate names/$ssl_server_name.pem; ssl_certificate_key names/$ssl_server_name.key;
    ssl_certificate_cache max=10 inactive=1h valid=1h;`,
  data: 'ssl_certificate data:$chain; ssl_certificate_key data:$secret;',
  mapped: 'ssl_certificate $path.pem; ssl_certificate_key $path.key;',
} as const;
type Port = keyof typeof SETTINGS;

const servers = (engine: string): string =>
  Object.entries(SETTINGS)
    .map(
      ([name, lines]) =>
        `server { listen 127.0.0.1:%%PORT_${engine}_${name}%% ssl; ${lines} return ${engine === 'http' ? '200 ' : ''}ok; }`,
    )
    .join('\n');

const maps = `map $ssl_server_name $chain { a.example ${quoted(a.cert)}; }
  map $ssl_server_name $secret { a.example ${quoted(a.key)}; }
  map $ssl_server_name $path { a.example names/a.example; climbs.example names/../names/a.example; }`;

function startSite(scope: Scope): Promise<Srv> {
  return startSrv(
    scope,
    `error_log logs/error.log info; events {} http { ${maps} ${servers('http')} } stream { ${maps} ${servers('stream')} }`,
    {
      files: {
        ...files('a.example', a),
        ...files('b.example', b),
        ...files('mixed.example', { cert: a.cert, key: other.key }),
        'conf/outside.pem': a.cert,
      },
    },
  );
}

const site = shared(startSite);

/** The subject that a handshake shows. */
async function shown(
  t: ExecutionContext,
  engine: string,
  port: Port,
  servername: string,
  options: ConnectionOptions = {},
): Promise<unknown> {
  const { socket } = await connectRawTls(t, (await site()).port(`${engine}_${port}`), { servername, ...options });
  const { subject } = (socket as TLSSocket).getPeerCertificate();
  socket.destroy();
  return subject.CN;
}

const ALERT = { message: /alert internal error/ };

for (const engine of ['http', 'stream']) {
  for (const port of ['file', 'captured', 'cached'] as const)
    test(`${engine}, ${port}: the certificate is that of the name that the client asks for`, async (t) => {
      for (const version of ['TLSv1.2', 'TLSv1.3'] as const)
        for (const name of ['a.example', 'b.example', 'a.example']) t.is(await shown(t, engine, port, name, { maxVersion: version }), name);
    });

  test(`${engine}: a certificate of a variable's text, and of a path that is a variable`, async (t) => {
    t.is(await shown(t, engine, 'data', 'a.example'), 'a.example');
    t.is(await shown(t, engine, 'mapped', 'a.example'), 'a.example');
    t.notRegex((await site()).log(), /PRIVATE|BEGIN/);
  });

  test(`${engine}: handshakes without a file, with the wrong key or outside of the folder fail, and the log says why`, async (t) => {
    const srv = await site();
    await t.throwsAsync(shown(t, engine, 'file', 'none.example'), ALERT);
    await srv.waitForLog(
      /\[error\] .*cannot load certificate ".*conf\/names\/none\.example\.pem": 2: No such file or directory while SSL handshaking/,
    );
    await t.throwsAsync(shown(t, engine, 'file', 'mixed.example'), ALERT);
    await srv.waitForLog(/key values mismatch while SSL handshaking/);
    await t.throwsAsync(shown(t, engine, 'mapped', 'climbs.example'), ALERT);
    await srv.waitForLog(/it is outside of its folder while SSL handshaking/);
    await t.throwsAsync(shown(t, engine, 'data', 'b.example'), ALERT);
    for (const name of ['../outside', '..', 'a/../a.example', '/a.example'])
      await t.throwsAsync(shown(t, engine, 'file', name), ALERT, name);
    t.notRegex(srv.log(), /PRIVATE|BEGIN/);
    t.is(await shown(t, engine, 'file', 'a.example'), 'a.example', 'others are not concerned');
  });

  test(`${engine}: a session is good for its certificate`, async (t) => {
    const target = (await site()).port(`${engine}_file`);
    const options: ConnectionOptions = { maxVersion: 'TLSv1.2', servername: 'a.example' };
    const first = await connectRawTls(t, target, options);
    const session = (first.socket as TLSSocket).getSession();
    const isReused = async (servername: string): Promise<boolean> =>
      ((await connectRawTls(t, target, { ...options, servername, session })).socket as TLSSocket).isSessionReused();
    t.true(await isReused('a.example'));
    t.false(await isReused('b.example'));
  });
}

test.serial('without a cache the next handshake has a renewed certificate, with one when its time is over', async (t) => {
  const srv = await site();
  const replace = ({ cert, key }: Certificate): void => {
    for (const [name, text] of Object.entries(files('renewed.example', { cert, key }))) {
      const path = join(srv.prefix, name);
      writeFileSync(`${path}.new`, text);
      renameSync(`${path}.new`, path);
    }
  };
  replace(a);
  for (const port of ['file', 'cached'] as const) t.is(await shown(t, 'http', port, 'renewed.example'), 'a.example');
  replace(other);
  t.is(await shown(t, 'http', 'file', 'renewed.example'), 'other.example');
  t.is(await shown(t, 'http', 'cached', 'renewed.example'), 'a.example');
  t.true(readFileSync(join(srv.prefix, 'conf/names/renewed.example.pem'), 'utf8').includes(other.cert));
});

const rejected = (at: number, lines: string): string =>
  `server { listen unix:a${at} ssl; ssl_certificate $ssl_server_name.pem; ${lines} return 200; }`;

test('settings that are rejected', async (t) => {
  const errorsOf = async (...all: readonly string[]): Promise<string> => {
    const block = all.map((lines, at) => rejected(at, lines)).join('');
    return (await check(t, `events {} http { ${block} } stream { ${block} }`)).stderr;
  };
  t.is((await errorsOf('ssl_certificate_key $nothing;')).match(/unknown "nothing" variable/g)?.length, 2);
  const errors = await errorsOf('', 'ssl_certificate_key $server_name.key; ssl_certificate_cache inactive=1s;');
  t.is(errors.match(/no "ssl_certificate_key" is defined for certificate "\$ssl_server_name\.pem"/g)?.length, 2);
  t.is(errors.match(/"ssl_certificate_cache" must have the "max" parameter/g)?.length, 2);
});
