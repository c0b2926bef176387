/** ssl_verify_depth: how long chains of clients may be, in either engine and with sessions that are resumed. */
import { connect, type ConnectionOptions } from 'node:tls';
import test from 'ava';
import { certificateFor, selfSigned, type Certificate } from '../harness/certificate.js';
import { shared, type Scope } from '../harness/scope.js';
import { startSrv, type Srv } from '../harness/srv.js';
import { waitFor } from '../harness/wait.js';

const own = selfSigned('own.example');
const root = selfSigned('root');
const first = certificateFor(['first'], { issuer: root });
const second = certificateFor(['second'], { issuer: first });

/** A client that shows these authorities as well. */
function client(issuer: Certificate, ...between: readonly Certificate[]): Certificate {
  const { cert, key } = certificateFor(['client'], { issuer });
  return { cert: [cert, ...between.map((one) => one.cert)].join(''), key };
}

const DIRECT = client(root);
const ONE_BETWEEN = client(first, first);
const TWO_BETWEEN = client(second, second, first);

/** By the name of a port. */
const SETTINGS = {
  usual: '',
  none: 'ssl_verify_depth 0;',
  two: 'ssl_verify_depth 2;',
  cache: 'ssl_session_cache shared:sessions:1m;',
  lenient: 'ssl_verify_client optional_no_ca;',
} as const;
type Port = keyof typeof SETTINGS;

const servers = (engine: string, content: string): string =>
  Object.entries(SETTINGS)
    .map(([name, lines]) => `server { listen 127.0.0.1:%%PORT_${engine}_${name}%% ssl; ${lines} ${content} }`)
    .join('\n');

function startSite(scope: Scope): Promise<Srv> {
  const tls = 'ssl_certificate own.pem; ssl_certificate_key own.key; ssl_client_certificate root.pem; ssl_verify_client on;';
  return startSrv(
    scope,
    `worker_processes 2; error_log logs/error.log info; events {}
    http { ${tls} ${servers('http', 'return 200 "<$ssl_client_verify $ssl_client_s_dn>";')} }
    stream { ${tls} ${servers('stream', 'return "<$ssl_client_verify $ssl_client_s_dn>";')} }`,
    { files: { 'conf/own.pem': own.cert, 'conf/own.key': own.key, 'conf/root.pem': root.cert } },
  );
}

const site = shared(startSite);

interface Visit {
  /** What comes between angle brackets, or the status. */
  readonly said: string;
  readonly session: Buffer;
  readonly isReused: boolean;
}

async function visit(engine: string, port: Port, options: ConnectionOptions): Promise<Visit> {
  const target = (await site()).port(`${engine}_${port}`);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port: target, rejectUnauthorized: false, ...options });
    let received = '';
    let session: Buffer = Buffer.alloc(0);
    let isReused = false;
    socket.on('session', (given: Buffer) => (session = given));
    socket.once('secureConnect', () => (isReused = socket.isSessionReused()));
    socket.once('secureConnect', () => socket.write('GET / HTTP/1.0\r\n\r\n'));
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    socket.once('error', reject);
    socket.once('close', () => {
      const [, said = ''] = /<(.*)>$/.exec(received) ?? /^HTTP\/1\.1 (\d+)/.exec(received) ?? [];
      resolve({ said, session, isReused });
    });
  });
}

for (const engine of ['http', 'stream']) {
  const rejected = engine === 'http' ? '400' : '';
  const said = async (port: Port, certificate: Certificate): Promise<string> => (await visit(engine, port, certificate)).said;

  test(`${engine}: certificates between that of the client and the authority are counted`, async (t) => {
    t.is(await said('usual', DIRECT), 'SUCCESS CN=client');
    t.is(await said('usual', ONE_BETWEEN), 'SUCCESS CN=client');
    t.is(await said('usual', TWO_BETWEEN), rejected);
    await (await site()).waitForLog(/client SSL certificate verify error: \(certificate chain too long\)/);
    t.is(await said('none', DIRECT), 'SUCCESS CN=client');
    t.is(await said('none', ONE_BETWEEN), rejected);
    t.is(await said('two', TWO_BETWEEN), 'SUCCESS CN=client');
    t.is(await said('lenient', TWO_BETWEEN), rejected);
    t.is(await said('lenient', own), 'FAILED:self-signed certificate CN=own.example');
  });

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const options = { minVersion: version, maxVersion: version };

    test(`${engine}, ${version}: a client with a chain resumes its session, one whose chain is too long has none`, async (t) => {
      for (const port of ['usual', 'cache'] as const) {
        const good = await visit(engine, port, { ...options, ...ONE_BETWEEN });
        const again = (): Promise<Visit> => visit(engine, port, { ...options, ...ONE_BETWEEN, session: good.session });
        // The other worker hears of it a moment later.
        await waitFor('a session that is resumed', async () => (await again()).isReused);
        t.is((await again()).said, 'SUCCESS CN=client', port);
        const bad = await visit(engine, port, { ...options, ...TWO_BETWEEN });
        for (let attempt = 0; attempt < 4; attempt++) {
          const { isReused, said: then } = await visit(engine, port, { ...options, ...TWO_BETWEEN, session: bad.session });
          t.deepEqual([isReused, then], [false, rejected], port);
        }
      }
    });
  }
}
