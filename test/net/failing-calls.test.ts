/** System calls that fail: what the users of a connection see, and that no descriptor is left. */
import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import test, { type ExecutionContext } from 'ava';
import { CoarseClock } from '../../core/net/clock.js';
import { ByteFlow } from '../../core/net/byte-flow.js';
import { ReadBuffers } from '../../core/net/buffers.js';
import type { NetContext } from '../../core/net/net-context.js';
import { TimerWheel } from '../../core/net/timers.js';
import { Errno } from '../../core/net/transport/epoll/errno.js';
import { EpollConnection } from '../../core/net/transport/epoll/epoll-connection.js';
import { EpollDatagrams } from '../../core/net/transport/epoll/epoll-datagrams.js';
import { hasEpoll } from '../harness/event-methods.js';
import { waitFor } from '../harness/wait.js';
import { acceptedOf, client, type FailingDatagrams, openFiles, stage, Witness } from './failing-calls.js';

const ofLinux = hasEpoll ? test.serial : test.serial.skip;

const BrokenDescriptor = 9;
const TooManyFiles = 24;
const TableFull = 23;

for (const [name, error] of [
  ['EMFILE', TooManyFiles],
  ['ENFILE', TableFull],
] as const) {
  ofLinux(`accept: after ${name} the connection that waits is closed, and the next one is accepted`, async (t) => {
    const it = stage(t);
    it.calls.fail('accept', error);
    const socket = await client(t, it.port);
    socket.on('error', () => undefined).resume();
    await waitFor('its end', () => socket.closed || socket.readableEnded);
    t.deepEqual(it.failures, [name]);
    await client(t, it.port);
    await acceptedOf(it);
  });

  ofLinux(`accept: after ${name} without a spare descriptor it rests, and goes on with the connection that waits`, async (t) => {
    const it = stage(t);
    it.calls.fail('accept', error, 2);
    await client(t, it.port);
    await acceptedOf(it);
    t.deepEqual(it.failures, [name]);
  });
}

for (const [name, error] of [['ENOBUFS', Errno.NoBuffers]] as const) {
  ofLinux(`accept: after ${name} it rests, and goes on with the connection that waits`, async (t) => {
    const it = stage(t);
    it.calls.fail('accept', error);
    const socket = await client(t, it.port);
    const connection = await acceptedOf(it);
    t.deepEqual(it.failures, [name]);
    socket.write('hello');
    await waitFor('its bytes', () => it.witness.text === 'hello');
    connection.destroy();
  });
}

ofLinux('accept: EINTR and ECONNABORTED are not reported', async (t) => {
  const it = stage(t);
  it.calls.fail('accept', Errno.Interrupted);
  it.calls.fail('accept', Errno.Aborted);
  await client(t, it.port);
  await acceptedOf(it);
  t.deepEqual(it.failures, []);
});

for (const [name, error] of [
  ['EINTR', Errno.Interrupted],
  ['EAGAIN', Errno.Again],
] as const) {
  ofLinux(`${name} in a read, a write or a file: nothing is lost`, async (t) => {
    const it = stage(t);
    const socket = await client(t, it.port);
    const connection = await acceptedOf(it);
    it.calls.fail('receive', error, 3);
    it.calls.fail('send', error, 2);
    it.calls.fail('sendJoined', error, 2);
    socket.write('hello');
    await waitFor('its bytes', () => it.witness.text === 'hello');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
    connection.write('one ', 'latin1');
    connection.write(Buffer.from('two '));
    connection.write('three', 'latin1');
    await waitFor('all', () => received === 'one two three');
    t.deepEqual(it.witness.seen, []);
    t.is(connection.writableLength, 0);
  });
}

ofLinux('a head and its body leave together, and what is not accepted waits', async (t) => {
  const it = stage(t);
  const socket = await client(t, it.port);
  const connection = await acceptedOf(it);
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString('latin1')));
  const body = Buffer.from('a body of it');
  t.true(connection.writeBoth?.('head: ', body, 2, 6));
  await waitFor('both', () => received === 'head: body');
  it.calls.fail('sendJoined', Errno.Again, 3);
  connection.writeBoth?.(' one: ', body, 2, 6);
  connection.writeBoth?.(' two: ', body, 0, 6);
  body.fill('-');
  await waitFor('all', () => received === 'head: body one: body two: a body');
  it.calls.fail('sendJoined', Errno.BrokenPipe, 2);
  connection.writeBoth?.('lost: ', body, 0, 6);
  await waitFor('the end', () => it.witness.seen.includes('close'));
  t.deepEqual(it.witness.seen, ['close']);
});

for (const [name, call, error] of [
  ['ECONNRESET in a read', 'receive', Errno.Reset],
  ['EPIPE in a write', 'sendJoined', Errno.BrokenPipe],
  ['ECONNRESET in a write', 'sendJoined', Errno.Reset],
  ['ENOBUFS in a write', 'sendJoined', Errno.NoBuffers],
  ['EBADF in a read', 'receive', BrokenDescriptor],
] as const) {
  ofLinux(`${name} closes the connection, once, and its descriptor`, async (t) => {
    const it = stage(t);
    const socket = await client(t, it.port);
    const connection = await acceptedOf(it);
    const before = openFiles();
    it.calls.fail(call, error);
    if (call === 'receive') socket.write('x');
    else connection.write('x', 'latin1');
    await waitFor('the end', () => it.witness.seen.includes('close'));
    t.deepEqual(it.witness.seen, ['close']);
    t.true(connection.destroyed);
    t.is(connection.descriptor, undefined);
    t.false(connection.write('more', 'latin1'));
    socket.resume();
    await waitFor('its end at the client', () => socket.closed);
    await waitFor('its descriptors', () => openFiles() <= before - 2);
    t.is(it.loop.stale, 0);
  });
}

ofLinux('epoll_ctl: a connection that cannot be watched is closed at once', async (t) => {
  const it = stage(t);
  const before = openFiles();
  it.calls.fail('control', 12);
  const socket = await client(t, it.port);
  socket.resume();
  await waitFor('its end at the client', () => socket.closed);
  await waitFor('the end', () => it.witness.seen.includes('close'));
  t.deepEqual(it.witness.seen, ['close']);
  await waitFor('its descriptors', () => openFiles() <= before);
});

ofLinux('connect: its failure is reported once, before the end', async (t) => {
  const it = stage(t);
  const target = createServer().listen(0, '127.0.0.1');
  t.teardown(() => target.close());
  await once(target, 'listening');
  const { port } = target.address() as AddressInfo;
  const before = openFiles();
  it.calls.fail('connectResult', 111);
  const witness = new Witness();
  const descriptor = it.calls.openSocket(2, 1);
  const bytes = Buffer.from([2, 0, port >> 8, port & 255, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  it.calls.connect(descriptor, bytes);
  const connection = new EpollConnection(it.loop, descriptor, undefined, Buffer.alloc(16), undefined, { address: '127.0.0.1', port });
  connection.client = witness;
  connection.write('never sent', 'latin1');
  await waitFor('the end', () => witness.seen.includes('close'));
  t.deepEqual(witness.seen, ['error ECONNREFUSED', 'close']);
  await waitFor('its descriptor', () => openFiles() <= before + 1);
});

interface DatagramStage {
  readonly socket: EpollDatagrams;
  readonly seen: string[];
  readonly calls: FailingDatagrams;
  /** Sends to its own address. */
  readonly sendAll: (texts: readonly string[]) => boolean[];
  /** Of the receiver of a datagram. */
  onDatagram: (text: string) => void;
}

function datagramStage(t: ExecutionContext): DatagramStage {
  const { calls, loop } = stage(t);
  const seen: string[] = [];
  const socket = new EpollDatagrams(loop, '127.0.0.1', {
    onDatagram: (bytes, { address, port }) => {
      seen.push(bytes.toString());
      if (address !== '127.0.0.1' || port !== socket.port) seen.push(`of ${address} ${port}`);
      it.onDatagram(bytes.toString());
    },
    onDropped: ({ code }) => seen.push(`dropped ${code}`),
    onSocketError: ({ code, syscall }) => seen.push(`error ${syscall} ${code}`),
  });
  t.teardown(() => socket.close());
  socket.bind('127.0.0.1', 0);
  const ends = { address: '127.0.0.1', port: socket.port, to: undefined };
  const it: DatagramStage = {
    socket,
    seen,
    calls: calls.datagrams,
    sendAll: (texts) => texts.map((text) => socket.sendTo(Buffer.from(text), ends)),
    onDatagram: () => undefined,
  };
  return it;
}

ofLinux('datagrams: what cannot be sent is counted, other errors are reported', async (t) => {
  const { socket, seen, calls, sendAll } = datagramStage(t);
  calls.failures.add('sendTo', Errno.NoBuffers);
  calls.failures.add('sendTo', Errno.Again);
  t.deepEqual(sendAll(['lost', 'lost']), [false, false]);
  t.is(socket.dropped, 2);
  calls.failures.add('receive', Errno.Interrupted, 2);
  calls.failures.add('receive', TooManyFiles);
  t.deepEqual(sendAll(['kept']), [true]);
  await waitFor('the datagram', () => seen.includes('kept'));
  t.deepEqual(seen, ['dropped ENOBUFS', 'dropped EAGAIN', 'error recvmsg EMFILE', 'kept']);
});

ofLinux('datagrams of one turn leave with one call, in their order, and one that fails costs no other', async (t) => {
  const it = datagramStage(t);
  const { socket, seen, calls } = it;
  const long = 'long'.repeat(1000);
  const several = Array.from({ length: 40 }, (_, index) => `${index}`);
  it.onDatagram = (text) => {
    if (text === 'all') it.sendAll(several);
    if (text === 'mixed') it.sendAll(['', 'before', long, 'after']);
    if (text === 'failing') it.sendAll(['refused', 'no room', 'third', 'fourth']);
  };
  it.sendAll(['all']);
  await waitFor('all', () => seen.length === 41);
  t.deepEqual(seen, ['all', ...several]);
  t.deepEqual(calls.sent.splice(0), [32, 8]);
  it.sendAll(['mixed']);
  await waitFor('those before and after a long one', () => seen.includes('after'));
  t.deepEqual(seen.splice(0).slice(41), ['mixed', '', 'before', long, 'after']);
  t.deepEqual(calls.sent.splice(0), [2, 1]);
  calls.most = 1;
  calls.failures.add('sendCollected', 1);
  calls.failures.add('sendCollected', Errno.NoBuffers);
  it.sendAll(['failing']);
  await waitFor('the others', () => seen.includes('fourth'));
  t.deepEqual(seen.toSorted(), ['dropped ENOBUFS', 'error send EPERM', 'failing', 'fourth', 'third']);
  t.is(socket.dropped, 1);
});

ofLinux('a socket that is closed in a turn sends what it was given before, and receives no more', async (t) => {
  const it = datagramStage(t);
  const client = createSocket('udp4');
  t.teardown(() => client.close());
  const received: string[] = [];
  client.on('message', (bytes) => received.push(bytes.toString()));
  await new Promise<void>((resolve) => client.bind(0, '127.0.0.1', resolve));
  it.onDatagram = () => {
    it.socket.sendTo(Buffer.from('last'), { address: '127.0.0.1', port: client.address().port, to: undefined });
    it.socket.close();
  };
  it.sendAll(['one', 'two']);
  await waitFor('its last datagram', () => received.includes('last'));
  t.deepEqual(it.seen.slice(0, 1), ['one']);
  t.false(it.seen.includes('two'));
});

ofLinux('wrappers with closed descriptors, no bytes and wrong numbers: errors, and no crash', (t) => {
  const { calls } = stage(t);
  const none = Buffer.alloc(0);
  for (const descriptor of [-1, 0x7fffffff, 1_000_000]) {
    t.is(calls.receive(descriptor, Buffer.alloc(8)), -BrokenDescriptor);
    t.is(calls.send(descriptor, Buffer.from('x')), -BrokenDescriptor);
    t.is(calls.send(descriptor, none), 0);
    t.is(calls.sendJoined(descriptor, 0), -BrokenDescriptor);
    t.is(calls.accept(descriptor), -BrokenDescriptor);
    t.is(calls.sendFile(descriptor, descriptor, 0, 10), -BrokenDescriptor);
    t.is(calls.files.readCached(descriptor, Buffer.alloc(8), 0), -BrokenDescriptor);
    t.is(calls.listen(descriptor, 5), -BrokenDescriptor);
    t.is(calls.connectResult(descriptor), -BrokenDescriptor);
    t.is(calls.datagrams.receive(descriptor), -BrokenDescriptor);
    t.is(calls.datagrams.send(descriptor, none), -BrokenDescriptor);
    t.is(calls.datagrams.sendTo(descriptor, none, none, undefined), -BrokenDescriptor);
    t.is(calls.datagrams.sendCollected(descriptor, 0, 1), -BrokenDescriptor);
    t.is(calls.localAddress(descriptor), undefined);
    t.is(calls.peerAddress(descriptor), undefined);
  }
});

ofLinux('microtasks and timers of a handler run in the same turn, or the next one', async (t) => {
  const it = stage(t);
  const socket = await client(t, it.port);
  const connection = await acceptedOf(it);
  const order: string[] = [];
  const done = new Promise<void>((resolve) => {
    connection.client = Object.assign(new Witness(), {
      onData: () => {
        order.push('data');
        void Promise.resolve().then(() => order.push('microtask'));
        process.nextTick(() => order.push('tick'));
        setImmediate(() => {
          order.push('immediate');
          resolve();
        });
      },
    });
  });
  socket.write('x');
  await done;
  t.deepEqual(order, ['data', 'tick', 'microtask', 'immediate']);
});

/** Another thread, so that nothing here wakes the event loop: a server, and a client of the port, which sends a byte after each message. */
const OTHER_THREAD = `
const { connect, createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const server = createServer((socket) => socket.end('from Node.js')).listen(0, '127.0.0.1', () => {
  const socket = connect(workerData, '127.0.0.1', () => parentPort.postMessage(server.address().port));
  parentPort.on('message', (text) => setTimeout(() => { socket.write('x'); if (text !== '') parentPort.postMessage(text); }, 300));
});`;

ofLinux('a handler can use what the event loop of Node.js has: its sockets, files, messages and timers', async (t) => {
  const it = stage(t);
  const thread = new Worker(OTHER_THREAD, { eval: true, workerData: it.port });
  t.teardown(() => thread.terminate());
  const [port] = (await once(thread, 'message')) as [number];
  const connection = await acceptedOf(it);
  const inHandler = async <T>(work: () => Promise<T>, message = ''): Promise<T> => {
    const result = new Promise<T>((resolve, reject) => {
      connection.client = Object.assign(new Witness(), { onData: () => void work().then(resolve, reject) });
    });
    thread.postMessage(message);
    return result;
  };
  const received = await inHandler(() => new Promise((done) => connect(port, '127.0.0.1').on('data', done)));
  t.is(String(received), 'from Node.js');
  t.deepEqual(await inHandler(() => once(thread, 'message'), 'a message'), ['a message']);
  t.not(await inHandler(() => readFile('/proc/self/comm', 'utf8')), '');
  const elapsed = await inHandler(async () => {
    const began = performance.now();
    await new Promise((done) => setTimeout(done, 200));
    return performance.now() - began;
  });
  // The clock of Node.js stood still before.
  t.true(elapsed >= 198, `a timer of 200 ms ran after ${elapsed}`);
});

ofLinux('one busy connection does not keep others waiting', async (t) => {
  const it = stage(t);
  const busy = await client(t, it.port);
  const first = await acceptedOf(it);
  const other = await client(t, it.port);
  const second = await waitFor('the other one', () => it.accepted[1]);
  let received = 0;
  let before = -1;
  first.client = Object.assign(new Witness(), { onData: ({ length }: Buffer) => void (received += length) });
  second.client = Object.assign(new Witness(), { onData: () => void (before = received) });
  for (const connection of [first, second]) connection.pause();
  busy.write(Buffer.alloc(4_000_000));
  other.write('x');
  await waitFor('bytes of both in the system', () => busy.bytesWritten > 0 && other.writableLength === 0);
  for (const connection of [first, second]) connection.resume();
  await waitFor('everything', () => received === 4_000_000);
  // One read in each turn of the loop.
  t.true(before >= 0 && before <= 4 * 65_536, `${before}`);
  t.is(it.loop.stale, 0);
});

/** Bytes of one client go to another one, as in a relay. */
class Passing extends Witness {
  passed = 0;
  written = 0;
  flow: ByteFlow | undefined = undefined;

  override onData(chunk: Buffer, borrowed = true): void {
    this.written += chunk.length;
    this.flow?.write(chunk, borrowed);
  }
  onPassed(_: ByteFlow, count: number): void {
    this.passed += count;
  }
}

const SENT = randomBytes(6_000_000);
const digest = (...chunks: readonly Buffer[]): string => {
  const hash = createHash('sha256');
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest('hex');
};

interface PassingStage {
  readonly calls: ReturnType<typeof stage>['calls'];
  readonly passing: Passing;
  readonly target: Witness;
  readonly send: () => void;
  readonly received: Buffer[];
  readonly receiver: Awaited<ReturnType<typeof client>>;
}

async function passingStage(t: ExecutionContext): Promise<PassingStage> {
  const it = stage(t);
  const sender = await client(t, it.port);
  const from = await acceptedOf(it);
  const receiver = await client(t, it.port);
  const to = await waitFor('the other one', () => it.accepted[1]);
  const clock = new CoarseClock();
  const context = { clock, timers: new TimerWheel(clock), buffers: new ReadBuffers() } as unknown as NetContext;
  const passing = new Passing();
  const target = new Witness();
  passing.flow = new ByteFlow(from, from.memory, to, context, 0, passing);
  from.client = passing;
  to.client = Object.assign(target, { onDrain: () => passing.flow?.onDrain() });
  const received: Buffer[] = [];
  return { calls: it.calls, passing, target, send: () => void sender.write(SENT), received, receiver };
}

const reads = ({ receiver, received }: PassingStage): void => void receiver.on('data', (chunk: Buffer) => received.push(chunk));
const sizeOf = (chunks: readonly Buffer[]): number => chunks.reduce((sum, { length }) => sum + length, 0);

ofLinux('splice: large data pass without being read, whole, and each byte is counted', async (t) => {
  const it = await passingStage(t);
  reads(it);
  it.send();
  await waitFor('everything', () => sizeOf(it.received) === SENT.length);
  t.is(digest(...it.received), digest(SENT));
  t.is(it.passing.passed + it.passing.written, SENT.length);
  t.true(it.passing.passed > SENT.length / 2, `${it.passing.passed} passed`);
});

ofLinux('splice: a receiver that reads late gets everything, and the sender waits for it', async (t) => {
  const it = await passingStage(t);
  it.send();
  let before = -1;
  await waitFor('a pause', () => {
    const moved = it.passing.passed + it.passing.written;
    if (moved > 0 && moved === before) return true;
    before = moved;
    return undefined;
  });
  reads(it);
  await waitFor('everything', () => sizeOf(it.received) === SENT.length);
  t.is(digest(...it.received), digest(SENT));
});

for (const [name, fail] of [
  ['EMFILE for its pipe', (calls: PassingStage['calls']) => calls.fail('createPipe', TooManyFiles, 1000)],
  ['EINVAL of a socket', (calls: PassingStage['calls']) => calls.fail('splice', Errno.InvalidArgument, 1000)],
  [
    'EAGAIN and EINTR',
    (calls: PassingStage['calls']) => {
      for (let after = 0; after < 40; after += 4) calls.fail('splice', after % 8 === 0 ? Errno.Again : Errno.Interrupted, 1, 4);
    },
  ],
] as const) {
  ofLinux(`splice: after ${name} nothing is lost`, async (t) => {
    const it = await passingStage(t);
    fail(it.calls);
    reads(it);
    it.send();
    await waitFor('everything', () => sizeOf(it.received) === SENT.length);
    t.is(digest(...it.received), digest(SENT));
    t.is(it.passing.passed + it.passing.written, SENT.length);
  });
}

ofLinux('splice: a reset of either side closes that side, once, and leaves nothing in the pipe for others', async (t) => {
  const it = await passingStage(t);
  it.calls.fail('splice', Errno.Reset);
  it.send();
  await waitFor('the end of the source', () => it.passing.seen.includes('close'));
  t.deepEqual(it.passing.seen, ['close']);

  const other = await passingStage(t);
  other.calls.fail('splice', Errno.BrokenPipe, 1, 1);
  other.send();
  other.receiver.resetAndDestroy();
  await waitFor('the end of the target', () => other.target.seen.includes('close'));
  t.deepEqual(
    other.target.seen.filter((what) => what === 'close'),
    ['close'],
  );

  const last = await passingStage(t);
  reads(last);
  last.send();
  await waitFor('everything', () => sizeOf(last.received) === SENT.length);
  t.is(digest(...last.received), digest(SENT));
});
