/** TLS of the epoll transport: what clients may do in any state of a connection, and that nothing of it is left. */
import * as ffi from 'node:ffi';
import { connect as connectPlain, createServer, type AddressInfo, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'ava';
import { ReadBuffers } from '../../core/net/buffers.js';
import { TlsContext } from '../../core/net/transport/tls-context.js';
import { OpenDescriptors } from '../../core/net/transport/open-descriptors.js';
import type { Connection } from '../../core/net/transport/connection.js';
import { SystemCalls } from '../../core/net/transport/epoll/calls.js';
import { EpollListening } from '../../core/net/transport/epoll/epoll-listening.js';
import { EpollLoop } from '../../core/net/transport/epoll/loop.js';
import { TlsEngine } from '../../core/net/transport/epoll/openssl/engine.js';
import { testTls } from '../../core/net/transport/epoll/openssl/self-test.js';
import type { SecuringUser } from '../../core/net/transport/tls.js';
import { selfSigned } from '../harness/certificate.js';
import { waitFor } from '../harness/wait.js';

const { cert, key } = selfSigned('own.example');
const NO_OFFER = { ciphers: '', groups: '', signatures: '' };
const PLACE = {
  host: '127.0.0.1',
  port: 0,
  path: undefined,
  ipv6Only: false,
  shared: false,
  descriptor: undefined,
  backlog: 511,
  secure: true,
};

const loop = new EpollLoop(new SystemCalls(ffi), new OpenDescriptors());
const engine = new TlsEngine(ffi, loop.calls, loop.open.tls);
loop.tls = engine;

/** Sends back what it gets, and ends when the client does. */
class Echo implements SecuringUser {
  failure: string | undefined = undefined;
  isOpen = true;

  constructor(
    private readonly connection: Connection,
    private readonly context: TlsContext,
  ) {}

  onData(chunk: Buffer): void {
    const own = Buffer.from(chunk);
    if (this.isSecured) {
      if (!this.connection.write(own)) this.connection.pause();
      return;
    }
    this.connection.acceptTls?.({ context: this.context, received: own, protocols: Buffer.alloc(0), offered: NO_OFFER, session: '' }, this);
  }
  isSecured = false;
  onSecured(): void {
    this.isSecured = true;
  }
  onNotSecured(reason: string): void {
    this.failure = reason;
    this.connection.destroy();
  }
  onEnd(): void {
    if (this.isSecured) this.connection.end();
    else this.connection.destroy();
  }
  onClose(): void {
    this.isOpen = false;
  }
  onDrain(): void {
    this.connection.resume();
  }
}

function serve(context: TlsContext = new TlsContext({ cert, key })): { port: number; users: Echo[]; close: () => void } {
  const users: Echo[] = [];
  const { shared } = new ReadBuffers();
  const listening = EpollListening.open(
    loop,
    { ...PLACE, buffer: shared },
    {
      onAccepted(connection) {
        const user = new Echo(connection, context);
        users.push(user);
        connection.client = user;
      },
      onAcceptFailed(error) {
        throw error;
      },
      newMemory: () => undefined,
    },
  );
  const name: { port?: number } = {};
  listening.handle.getsockname?.(name);
  return { port: name.port ?? 0, users, close: () => listening.close() };
}

function secure(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => resolve(socket));
    socket.once('error', reject);
  });
}

const areGone = (users: readonly Echo[]): Promise<unknown> => waitFor('the end of connections', () => users.every(({ isOpen }) => !isOpen));

test.serial('it speaks TLS with itself, and leaves nothing of that', (t) => {
  t.notThrows(() => testTls(engine));
  t.is(engine.ssl.takeErrors(), '');
});

test.serial('bytes of all lengths come back as they are, also to a client that reads slowly', async (t) => {
  const { port, users, close } = serve();
  t.teardown(close);
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await secure(port, { maxVersion });
    const sent = randomBytes(3_000_001);
    const received: Buffer[] = [];
    const ended = new Promise((resolve) => socket.once('end', resolve));
    socket.write(sent.subarray(0, 1));
    socket.write(sent.subarray(1, 40_000));
    socket.end(sent.subarray(40_000));
    // Both sides are full meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 100));
    socket.on('data', (chunk: Buffer) => received.push(chunk));
    await ended;
    t.true(Buffer.concat(received).equals(sent), maxVersion);
  }
  await areGone(users);
  t.is(engine.open, 0);
});

/** The first message of a client. */
function helloOf(): Promise<Buffer> {
  return new Promise((resolve) => {
    const server = createServer((socket) => {
      socket.once('data', (bytes: Buffer) => {
        socket.destroy();
        server.close();
        resolve(bytes);
      });
    });
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      connect({ host: '127.0.0.1', port }).on('error', () => undefined);
    });
  });
}

test.serial('nothing is left of broken hellos, and of clients that vanish in any state', async (t) => {
  const hello = await helloOf();
  const servers = [serve(), serve(new TlsContext({ cert, key, earlyData: true }))] as const;
  const [{ port }] = servers;
  const all = (): Echo[] => servers.flatMap(({ users }) => users);
  for (const { close } of servers) t.teardown(close);
  const sendThenLeave = (bytes: Buffer, leave: (socket: Socket) => void): Promise<unknown> =>
    new Promise((resolve) => {
      const { port: chosen } = servers[(bytes[bytes.length - 1] ?? 0) & 1] ?? servers[0];
      const socket = connectPlain({ host: '127.0.0.1', port: chosen }, () => socket.write(bytes, () => leave(socket)));
      socket.on('error', () => undefined).resume();
      socket.once('close', resolve);
    });
  const leaves = [
    (socket: Socket): unknown => socket.end(),
    (socket: Socket): unknown => socket.resetAndDestroy(),
    (socket: Socket): unknown => setTimeout(() => socket.destroy(), 5),
  ];
  for (let at = 0; at < 300; at++) {
    const bytes = at % 3 === 0 ? hello.subarray(0, 1 + ((at * 7) % hello.length)) : Buffer.from(hello);
    if (at % 3 === 1) bytes[(at * 13) % bytes.length] = at & 0xff;
    await sendThenLeave(bytes, leaves[at % leaves.length] as (socket: Socket) => void);
  }
  await areGone(all());
  t.true(all().some(({ failure = '' }) => failure.startsWith('SSL: error:')));
  t.is(engine.open, 0);
  t.is(engine.ssl.takeErrors(), '');
  const socket = await secure(port);
  socket.destroy();
  await areGone(all());
  t.is(engine.open, 0);
});

test.serial('clients that leave while their handshakes wait for a later turn hold no place', async (t) => {
  const hello = await helloOf();
  const { port, users, close } = serve();
  t.teardown(close);
  // Other handshakes use up every turn.
  Object.defineProperty(engine, 'isBusy', { configurable: true, get: () => true });
  const restore = (): boolean => Reflect.deleteProperty(engine, 'isBusy');
  t.teardown(restore);
  const sockets = Array.from({ length: 30 }, () => {
    const socket = connectPlain({ host: '127.0.0.1', port }, () => socket.write(hello));
    return socket.on('error', () => undefined);
  });
  await waitFor('handshakes that wait', () => engine.open === 30);
  for (const [at, socket] of sockets.entries()) {
    if (at % 3 === 0) socket.end();
    else if (at % 3 === 1) socket.resetAndDestroy();
    else socket.destroy();
  }
  await areGone(users);
  t.is(engine.open, 0);
  restore();
  const socket = await secure(port);
  socket.destroy();
  await areGone(users);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test.serial('handshakes that wait go on in their order, before new ones, and hold up nothing else', async (t) => {
  const order: string[] = [];
  const one = (name: string): { onTurn(): void } => ({
    onTurn() {
      if (engine.isBusy) {
        engine.postpone(this);
        return;
      }
      order.push(name);
      // More than a turn has.
      engine.countTime(3);
    },
  });
  engine.countTime(3);
  for (const name of ['a', 'b', 'c']) {
    t.true(engine.isBusy);
    engine.postpone(one(name));
  }
  for (const expected of ['a', 'ab', 'abc']) {
    engine.later({ onTurn: () => order.push('-') });
    await turn();
    t.is(order.filter((name) => name !== '-').join(''), expected);
    t.is(order.filter((name) => name === '-').length, expected.length, 'reads do not wait');
    t.true(engine.isBusy, 'one that comes now waits');
    engine.postpone(one(`${expected}+`));
  }
  for (let at = 0; at < 3; at++) await turn();
  t.deepEqual(order.slice(-3), ['a+', 'ab+', 'abc+']);
  await turn();
  t.false(engine.isBusy);
});

test.serial('a handshake of single bytes is as good as any', async (t) => {
  const { port, users, close } = serve();
  t.teardown(close);
  const gap = connectPlain({ host: '127.0.0.1', port });
  const write = gap.write.bind(gap);
  // TLS writes single bytes after the first message, which the server has to see at once here.
  let isFirst = true;
  gap.write = (chunk: Uint8Array, ...rest: readonly unknown[]) => {
    if (isFirst) write(chunk);
    else for (const byte of chunk) write(Buffer.of(byte));
    isFirst = false;
    const then = rest.find((one) => typeof one === 'function') as (() => void) | undefined;
    then?.();
    return true;
  };
  const socket = await secure(port, { socket: gap });
  const text = new Promise((resolve) => socket.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  socket.write('hello');
  t.is(await text, 'hello');
  socket.destroy();
  await areGone(users);
  t.is(engine.open, 0);
});

test.serial('contexts of former certificates are freed, and live as long as their connections', async (t) => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const before = engine.contexts;
  const sockets: TLSSocket[] = [];
  const users: Echo[] = [];
  for (let generation = 0; generation < 10; generation++) {
    const server = serve(new TlsContext({ cert, key }));
    sockets.push(await secure(server.port));
    server.close();
    users.push(...server.users.splice(0));
  }
  const [first] = sockets as [TLSSocket];
  const text = new Promise((resolve) => first.once('data', (chunk: Buffer) => resolve(chunk.toString())));
  first.write('still there');
  t.is(await text, 'still there');
  t.is(engine.open, 10);
  for (const socket of sockets) socket.destroy();
  await areGone(users);
  users.length = 0;
  await waitFor('contexts to be freed', () => {
    collect();
    return engine.contexts <= before + 1;
  });
  t.is(engine.open, 0);
});
