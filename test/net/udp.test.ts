import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import test, { type ExecutionContext } from 'ava';
import { CoarseClock } from '../../core/net/clock.js';
import type { NetContext } from '../../core/net/net-context.js';
import { UdpListener, type DatagramServer } from '../../core/net/udp/udp-listener.js';
import { NodeTransport } from '../../core/net/transport/transport.js';
import type { FlowReceiver, UdpFlow } from '../../core/net/udp/udp-flow.js';
import { UdpPeer } from '../../core/net/udp/udp-peer.js';
import { waitFor } from '../harness/wait.js';

const LARGEST = 65_507;

/** A session that sends everything back, and notes what it sees. */
class Echo implements FlowReceiver {
  readonly received: Buffer[] = [];
  lost: string | undefined = undefined;

  constructor(readonly flow: UdpFlow) {}

  onClientDatagram(bytes: Buffer): void {
    this.received.push(bytes);
    this.flow.send(bytes);
  }
  onClientLost(reason: string): void {
    this.lost = reason;
    this.flow.close();
  }
}

class EchoServer implements DatagramServer {
  readonly sessions: Echo[] = [];
  room = Infinity;

  admitFlow(): boolean {
    return this.sessions.length < this.room;
  }
  serveFlow(flow: UdpFlow, first: Buffer): void {
    const session = new Echo(flow);
    this.sessions.push(session);
    flow.receiver = session;
    session.onClientDatagram(first);
  }
}

function listen(t: ExecutionContext, host = '127.0.0.1', port = 0): { listener: UdpListener; server: EchoServer } {
  const server = new EchoServer();
  const context = { clock: new CoarseClock(), transport: new NodeTransport() as NetContext['transport'] } as unknown as NetContext;
  const options = { address: `${host}:${port}`, host, port, ipv6Only: true, receiveBuffer: undefined, sendBuffer: undefined };
  const listener = new UdpListener(options, context, server);
  listener.open(true);
  t.teardown(() => {
    listener.close();
    for (const { flow } of server.sessions) flow.close();
  });
  return { listener, server };
}

/** A client that notes what comes back. */
async function connect(t: ExecutionContext, port: number, host = '127.0.0.1'): Promise<{ socket: Socket; received: Buffer[] }> {
  const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
  const received: Buffer[] = [];
  socket.on('message', (bytes) => received.push(bytes));
  // Nobody listens there.
  socket.on('error', () => undefined);
  t.teardown(() => socket.close());
  socket.connect(port, host);
  await once(socket, 'connect');
  return { socket, received };
}

const texts = (list: readonly Buffer[]): string[] => list.map(String);

test('datagrams of one client belong to one session, those of another one to another', async (t) => {
  const { listener, server } = listen(t);
  const [one, other] = [await connect(t, listener.port), await connect(t, listener.port)];
  for (const text of ['a', 'b', 'c']) one.socket.send(text);
  await waitFor('three echoes', () => one.received.length === 3);
  other.socket.send('x');
  await waitFor('an echo', () => other.received.length === 1);
  t.deepEqual(
    server.sessions.map(({ received }) => texts(received)),
    [['a', 'b', 'c'], ['x']],
  );
  t.deepEqual(texts(one.received), ['a', 'b', 'c']);
  const address = one.socket.address();
  t.is(server.sessions[0]?.flow.remoteAddress, address.address);
  t.is(server.sessions[0]?.flow.remotePort, address.port);
});

for (const host of ['127.0.0.1', '::1']) {
  test(`the empty datagram and the largest one pass, ${host}`, async (t) => {
    const { listener } = listen(t, host);
    const { socket, received } = await connect(t, listener.port, host);
    const largest = Buffer.alloc(LARGEST, 'x');
    for (const bytes of [Buffer.alloc(0), largest, Buffer.from('end')]) {
      socket.send(bytes);
      const count = received.length + 1;
      await waitFor('the echo', () => received.length === count);
    }
    t.is(received[0]?.length, 0);
    t.true(received[1]?.equals(largest));
    t.is(String(received[2]), 'end');
  });
}

test('a session that takes no more still sends, and the next datagram begins another one', async (t) => {
  const { listener, server } = listen(t);
  const { socket, received } = await connect(t, listener.port);
  socket.send('first');
  await waitFor('the first session', () => server.sessions.length === 1);
  server.sessions[0]?.flow.detach();
  socket.send('second');
  await waitFor('the second session', () => server.sessions.length === 2);
  server.sessions[0]?.flow.send(Buffer.from('late'));
  await waitFor('three datagrams', () => received.length === 3);
  t.deepEqual(texts(received).toSorted(), ['first', 'late', 'second']);
  server.sessions[1]?.flow.close();
  socket.send('third');
  await waitFor('the third session', () => server.sessions.length === 3);
});

test('without room nothing is begun, and sessions that exist go on', async (t) => {
  const { listener, server } = listen(t);
  const [one, other] = [await connect(t, listener.port), await connect(t, listener.port)];
  one.socket.send('a');
  await waitFor('a session', () => one.received.length === 1);
  server.room = 1;
  other.socket.send('b');
  one.socket.send('c');
  await waitFor('the second echo', () => one.received.length === 2);
  t.is(server.sessions.length, 1);
});

test('sessions keep their way to the client when the listener is drained; new clients are those of another one', async (t) => {
  const old = listen(t);
  const { port } = old.listener;
  const first = await connect(t, port);
  first.socket.send('a');
  await waitFor('an echo', () => first.received.length === 1);

  await old.listener.drain();
  t.false(old.listener.isOpen);
  const present = listen(t, '127.0.0.1', port);
  first.socket.send('b');
  await waitFor('an echo of the old session', () => first.received.length === 2);
  const second = await connect(t, port);
  second.socket.send('x');
  await waitFor('an echo of the new listener', () => second.received.length === 1);
  old.server.sessions[0]?.flow.send(Buffer.from('c'));
  await waitFor('a response', () => first.received.length === 3);

  t.deepEqual(texts(first.received), ['a', 'b', 'c']);
  t.is(old.server.sessions.length, 1);
  t.deepEqual(
    present.server.sessions.map(({ received }) => texts(received)),
    [['x']],
  );
  old.server.sessions[0]?.flow.close();
  first.socket.send('d');
  await waitFor('a session of the new listener', () => present.server.sessions.length === 2);
});

test('a session that takes no more datagrams ends with the listener', async (t) => {
  const { listener, server } = listen(t);
  const { socket } = await connect(t, listener.port);
  socket.send('a');
  await waitFor('a session', () => server.sessions.length === 1);
  server.sessions[0]?.flow.detach();
  await listener.drain();
  t.is(server.sessions[0]?.lost, 'the address is closed');
});

test('a member gets and sends datagrams; nobody else does', async (t) => {
  const member = createSocket('udp4');
  t.teardown(() => member.close());
  member.on('message', (bytes, { port, address }) => member.send(`re: ${bytes.toString()}`, port, address));
  member.bind(0, '127.0.0.1');
  await once(member, 'listening');
  const received: string[] = [];
  const errors: string[] = [];
  const user = {
    onPeerDatagram: (bytes: Buffer) => void received.push(String(bytes)),
    onPeerError: (reason: string) => void errors.push(reason),
  };
  const peer = new UdpPeer({ host: '127.0.0.1', port: member.address().port, localAddress: '127.0.0.1' }, new NodeTransport(), user);
  t.teardown(() => peer.close());
  t.true(peer.connected);
  const from = once(member, 'message') as Promise<[Buffer, { port: number }]>;
  t.true(peer.send(Buffer.from('a')));
  const [, { port }] = await from;
  const stranger = await connect(t, port);
  stranger.socket.send('forged');
  peer.send(Buffer.from('b'));
  await waitFor('two responses', () => received.length === 2);
  t.deepEqual(received, ['re: a', 're: b']);
  t.deepEqual(errors, []);
});

test('a member that is not there is told of', async (t) => {
  const free = createSocket('udp4').bind(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address();
  await new Promise<void>((resolve) => void free.close(resolve));
  const reason = await new Promise<string>((resolve) => {
    const peer = new UdpPeer({ host: '127.0.0.1', port }, new NodeTransport(), { onPeerDatagram: () => undefined, onPeerError: resolve });
    t.teardown(() => peer.close());
    peer.send(Buffer.from('a'));
  });
  t.is(reason, 'recv() failed (111: Connection refused)');
});

test('errors of the system: an address in use, no way to a member, a foreign local address', async (t) => {
  const taken = createSocket('udp4').bind(0, '127.0.0.1');
  t.teardown(() => taken.close());
  await once(taken, 'listening');
  t.is(t.throws<NodeJS.ErrnoException>(() => listen(t, '127.0.0.1', taken.address().port))?.code, 'EADDRINUSE');
  const ignore = { onPeerDatagram: () => undefined, onPeerError: () => undefined };
  t.is(
    t.throws<NodeJS.ErrnoException>(
      () => new UdpPeer({ host: '127.0.0.1', port: 9, localAddress: '192.0.2.1' }, new NodeTransport(), ignore),
    )?.code,
    'EADDRNOTAVAIL',
  );
  const reason = await new Promise<string>((resolve) => {
    const peer = new UdpPeer({ host: '255.255.255.255', port: 9 }, new NodeTransport(), { ...ignore, onPeerError: resolve });
    t.teardown(() => peer.close());
    t.false(peer.connected);
  });
  t.is(reason, 'connect() failed (13: Permission denied)');
});
