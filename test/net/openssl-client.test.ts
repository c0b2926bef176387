/** TLS of the epoll transport to servers: handshakes, sessions and servers that fail in any state, and that nothing of it is left. */
import * as ffi from 'node:ffi';
import { connect as connectPlain, createServer as createPlain, type AddressInfo, type Server, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { duplexPair } from 'node:stream';
import { createServer, TLSSocket, type TlsOptions } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import { ReadBuffers } from '../../core/net/buffers.js';
import { ReadMemory } from '../../core/net/read-memory.js';
import { TlsClient } from '../../core/net/tls-client.js';
import { OpenDescriptors } from '../../core/net/transport/open-descriptors.js';
import { addressBytes } from '../../core/net/transport/epoll/addresses.js';
import { SystemCalls } from '../../core/net/transport/epoll/calls.js';
import { EpollConnection } from '../../core/net/transport/epoll/epoll-connection.js';
import { EpollLoop } from '../../core/net/transport/epoll/loop.js';
import { TlsEngine } from '../../core/net/transport/epoll/openssl/engine.js';
import type { ConnectionTls } from '../../core/contract/client-connection.js';
import type { OtherSide, SecuringUser } from '../../core/net/transport/tls.js';
import { certificateFor, selfSigned } from '../harness/certificate.js';
import { waitFor } from '../harness/wait.js';

const own = selfSigned('own.example', '127.0.0.1');
const other = selfSigned('other.example');
const SETTINGS = { context: {}, sendsName: true, verifies: false, verifyDepth: 1, reusesSessions: true };

/** Lets reads of the system fail: those of OpenSSL are not among them. */
class Calls extends SystemCalls {
  connectError = 0;
  override connectResult(descriptor: number): number {
    return this.connectError === 0 ? super.connectResult(descriptor) : -this.connectError;
  }
}

const calls = new Calls(ffi);
const loop = new EpollLoop(calls, new OpenDescriptors());
const engine = new TlsEngine(ffi, loop.calls, loop.open.tls);
loop.tls = engine;
const buffers = new ReadBuffers();

async function listening(t: ExecutionContext, server: Server): Promise<number> {
  server.on('tlsClientError', () => undefined);
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A server that sends back what it gets. */
const echo = (t: ExecutionContext, options: TlsOptions = own): Promise<number> =>
  listening(
    t,
    createServer({ ...own, ...options, allowHalfOpen: true } as TlsOptions, (socket) => {
      socket.on('error', () => undefined);
      socket.pipe(socket);
    }),
  );

/** Writes down what happens on a connection that speaks TLS. */
class Client implements SecuringUser {
  readonly seen: string[] = [];
  readonly received: Buffer[] = [];
  readonly connection: EpollConnection;
  isReused = false;
  problem: string | undefined = undefined;

  constructor(
    port: number,
    private readonly tls: TlsClient,
    private readonly peer: object,
    private readonly name = 'own.example',
  ) {
    const descriptor = calls.openSocket(2, 1);
    calls.connect(descriptor, addressBytes('127.0.0.1', port) as Buffer);
    this.connection = new EpollConnection(loop, descriptor, new ReadMemory(buffers), undefined, undefined, { address: '127.0.0.1', port });
    this.connection.client = this;
  }

  onConnect(): void {
    this.connection.connectTls(this.tls.handshake(this.peer, this.name), this);
  }
  onSecured({ isReused, group }: Pick<ConnectionTls, 'isReused' | 'group'>, shown: OtherSide): void {
    if (this.tls instanceof TlsClient) this.tls.noteGroup(this.peer, group);
    this.isReused = isReused;
    this.problem = this.tls.problemOf(shown, this.name);
    this.seen.push('secured');
  }
  onNotSecured(reason: string): void {
    this.seen.push(`not secured: ${reason}`);
    this.connection.destroy();
  }
  onError({ message }: Error): void {
    this.seen.push(`error: ${message}`);
  }
  onData(chunk: Buffer): void {
    this.received.push(Buffer.from(chunk));
  }
  onEnd(): void {
    this.seen.push('end');
    this.connection.end();
  }
  onClose(): void {
    this.seen.push('close');
  }
  onDrain(): void {
    this.seen.push('drain');
  }

  sees(what: string): Promise<unknown> {
    return waitFor(what, () => this.seen.includes(what));
  }
  get text(): string {
    return Buffer.concat(this.received).toString();
  }
}

test.serial.afterEach((t) => {
  t.is(engine.open, 0, 'objects of OpenSSL');
  t.is(engine.ssl.takeErrors(), '');
});

test.serial('bytes of all lengths come back as they are, also where nothing is read for a while', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const client = new Client(await echo(t, { maxVersion }), new TlsClient(SETTINGS), {});
    t.teardown(() => client.connection.destroy());
    await client.sees('secured');
    const sent = randomBytes(20_000_001);
    client.connection.pause();
    client.connection.write(sent.subarray(0, 1));
    client.connection.write(sent.subarray(1, 40_000));
    t.false(client.connection.write(sent.subarray(40_000)), 'both sides are full');
    client.connection.end();
    await waitFor('bytes to wait', () => client.connection.writableLength > 0);
    client.connection.resume();
    await client.sees('close');
    t.true(Buffer.concat(client.received).equals(sent), maxVersion);
    t.deepEqual(
      client.seen.filter((what) => what !== 'drain'),
      ['secured', 'end', 'close'],
    );
  }
});

test.serial('sessions are resumed at the same server, under the same name, and where they are wanted', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const port = await echo(t, { maxVersion });
    const tls = new TlsClient(SETTINGS);
    const [one, another] = [{}, {}];
    const isReused = async (settings: TlsClient, peer: object, name?: string): Promise<boolean> => {
      const client = new Client(port, settings, peer, name);
      await client.sees('secured');
      client.connection.write('x', 'latin1');
      await waitFor('its echo, after the session', () => client.text === 'x');
      client.connection.destroy();
      await client.sees('close');
      return client.isReused;
    };
    t.false(await isReused(tls, one));
    t.true(await isReused(tls, one), maxVersion);
    t.true(await isReused(tls, one), maxVersion);
    t.false(await isReused(tls, another));
    t.false(await isReused(tls, one, 'b.example'));
    const never = new TlsClient({ ...SETTINGS, reusesSessions: false });
    t.false(await isReused(never, one));
    t.false(await isReused(never, one));
  }
});

test.serial('a key is made for the group that the server has agreed on before, and another one as soon as it asks for that', async (t) => {
  const peer = {};
  const settings = { ...SETTINGS, reusesSessions: false };
  const lengthOfHello = async (tls: TlsClient, ecdhCurve: string): Promise<number> => {
    const port = await echo(t, { minVersion: 'TLSv1.3', ecdhCurve });
    const hello: Buffer[] = [];
    const relay = createPlain((client) => {
      const server = connectPlain(port, '127.0.0.1').on('error', () => undefined);
      client.once('data', (bytes: Buffer) => hello.push(bytes));
      client.on('error', () => undefined).pipe(server);
      server.pipe(client);
    });
    const client = new Client(await listening(t, relay), tls, peer);
    await client.sees('secured');
    client.connection.destroy();
    await client.sees('close');
    return hello[0]?.length ?? 0;
  };
  const tls = new TlsClient(settings);
  const all = await lengthOfHello(tls, 'X25519');
  const one = await lengthOfHello(tls, 'X25519');
  t.true(one < all, `${one} bytes, ${all} with keys for several groups`);
  t.true(Math.abs((await lengthOfHello(tls, 'prime256v1')) - one) < 10, 'the server asks for another one');
  t.true(Math.abs((await lengthOfHello(tls, 'prime256v1')) - one - 33) < 10, 'which it gets at once then');
  const chosen = new TlsClient({ ...settings, context: { ...settings.context, ecdhCurve: 'X25519:prime256v1' } });
  t.is(await lengthOfHello(chosen, 'X25519'), await lengthOfHello(chosen, 'X25519'), 'settings of an operator stay');
});

test.serial('a session that cannot be read is none', async (t) => {
  const port = await echo(t);
  const tls = new TlsClient(SETTINGS);
  for (const session of [Buffer.alloc(1), randomBytes(2000), Buffer.from('30820400', 'hex')]) {
    const made = tls.handshake({}, 'own.example');
    const broken = { handshake: () => ({ ...made, session }), problemOf: () => undefined } as unknown as TlsClient;
    const client = new Client(port, broken, {});
    await client.sees('secured');
    t.false(client.isReused);
    client.connection.destroy();
    await client.sees('close');
  }
});

const verified = (ca: string): TlsClient => new TlsClient({ ...SETTINGS, context: { ca }, verifies: true });

test.serial('certificates are verified, with their names', async (t) => {
  const expired = certificateFor(['own.example'], { days: [-3, -1] });
  const cases: readonly [TlsOptions, string, string, string | undefined][] = [
    [own, own.cert, 'own.example', undefined],
    [own, own.cert, 'OWN.example', undefined],
    [own, own.cert, 'no.example', 'upstream SSL certificate does not match "no.example"'],
    [own, own.cert, '', 'upstream SSL certificate does not match ""'],
    [own, own.cert, '192.0.2.1', 'upstream SSL certificate does not match "192.0.2.1"'],
    [own, other.cert, 'own.example', 'upstream SSL certificate verify error: (18:self-signed certificate)'],
    [expired, expired.cert, 'own.example', 'upstream SSL certificate verify error: (10:certificate has expired)'],
  ];
  for (const [shown, trusted, name, expected] of cases) {
    const client = new Client(await echo(t, shown), verified(trusted), {}, name);
    await client.sees('secured');
    t.is(client.problem, expected, name);
    client.connection.destroy();
    await client.sees('close');
  }
});

test.serial('a certificate that cannot be used is an error, and no connection', async (t) => {
  const port = await echo(t);
  const client = new Client(port, new TlsClient({ ...SETTINGS, context: { cert: own.cert, key: other.key } }), {});
  let thrown = '';
  client.onConnect = () => {
    thrown = t.throws(() => Client.prototype.onConnect.call(client))?.message ?? '';
    client.connection.destroy();
  };
  await client.sees('close');
  t.regex(thrown, /key values mismatch/);
});

/** Acts of a server in the place of a handshake, or within one. */
const ROUGH: Readonly<Record<string, [(socket: Socket) => void, RegExp]>> = {
  'leaves at once': [(socket) => socket.destroy(), /^not secured: (104: Connection reset by peer)?$/],
  'leaves after the hello': [(socket) => void socket.once('data', () => socket.end()), /^not secured: $/],
  'resets after the hello': [
    (socket) => void socket.once('data', () => socket.resetAndDestroy()),
    /^not secured: 104: Connection reset by peer$/,
  ],
  'speaks plain text': [(socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), /^not secured: SSL: error:.*wrong version number/],
  'sends noise': [(socket) => void socket.end(randomBytes(40_000)), /^not secured: SSL: error:/],
  'sends an alert': [(socket) => void socket.end(Buffer.of(0x15, 3, 3, 0, 2, 2, 40)), /^not secured: SSL: error:.*handshake failure/],
};

for (const [name, [act, expected]] of Object.entries(ROUGH)) {
  test.serial(`a server that ${name}`, async (t) => {
    const server = createPlain((socket) => {
      socket.on('error', () => undefined);
      act(socket);
    });
    const client = new Client(await listening(t, server), new TlsClient(SETTINGS), {});
    await client.sees('close');
    t.is(client.seen.length, 2, client.seen.join());
    t.regex(client.seen[0] ?? '', expected);
  });
}

test.serial('a connection that cannot be made begins no handshake', async (t) => {
  calls.connectError = 111;
  t.teardown(() => (calls.connectError = 0));
  const client = new Client(await echo(t), new TlsClient(SETTINGS), {});
  await client.sees('close');
  t.deepEqual(
    client.seen,
    ['error: connect ECONNREFUSED', 'close'].map((text) => client.seen.find((seen) => seen.startsWith(text)) ?? text),
  );
});

test.serial('noise after the handshake is the reason of the end', async (t) => {
  const server = createPlain((socket) => {
    socket.on('error', () => undefined);
    const [near, far] = duplexPair();
    const secure = new TLSSocket(near, { isServer: true, ...own });
    secure.on('error', () => undefined);
    far.pipe(socket).pipe(far);
    secure.once('secure', () => setImmediate(() => socket.write(Buffer.alloc(100, 0x17))));
  });
  const client = new Client(await listening(t, server), new TlsClient(SETTINGS), {});
  await client.sees('close');
  t.is(client.seen[0], 'secured');
  t.regex(client.seen[1] ?? '', /^error: SSL: error:0A/);
  t.is(client.seen[2], 'close');
});

test.serial('what is written before the handshake is over leaves after it, and so does the end', async (t) => {
  const client = new Client(await echo(t), new TlsClient(SETTINGS), {});
  const { connection } = client;
  const begin = (): void => {
    Client.prototype.onConnect.call(client);
    connection.write('early', 'latin1');
    connection.end();
  };
  client.onConnect = begin;
  await client.sees('close');
  t.is(client.text, 'early');
});

test.serial('a handshake that is put off ends with the server that waits for it', async (t) => {
  let socket: TLSSocket | undefined;
  const server = createServer(own, (accepted) => (socket = accepted));
  const port = await listening(t, server);
  const client = new Client(port, new TlsClient(SETTINGS), {});
  // Other handshakes use up every turn.
  let isBusy = true;
  Object.defineProperty(engine, 'isBusy', { configurable: true, get: () => isBusy });
  t.teardown(() => Reflect.deleteProperty(engine, 'isBusy'));
  await new Promise<void>((resolve) => server.once('connection', (raw: Socket) => raw.destroy() && resolve()));
  await client.sees('not secured: ');
  await client.sees('close');
  isBusy = false;
  t.is(socket, undefined);
});
