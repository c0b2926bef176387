import test from 'ava';
import { TimerWheel } from '../../core/net/timers.js';
import type { Upstream } from '../../core/upstream/upstream.js';
import type { IdleConnection } from '../../core/upstream/idle-entry.js';
import { DEFAULT_KEEPALIVE, type KeepaliveSettings } from '../../core/upstream/keepalive.js';
import type { Peer } from '../../core/upstream/peer.js';
import { upstreamOf, member, StandingClock } from './upstreams.js';

class Connection implements IdleConnection {
  open = true;
  onClosed: ((connection: IdleConnection) => void) | undefined = undefined;
  constructor(
    readonly requests = 1,
    readonly createdAt = 1_000_000,
    readonly tls?: object,
  ) {}

  park(onClosed: (connection: IdleConnection) => void): void {
    this.onClosed = onClosed;
  }
  close(): void {
    this.open = false;
  }
}

interface Stage {
  readonly upstream: Upstream;
  readonly clock: StandingClock;
  readonly one: Peer;
  readonly two: Peer;
}

function stage(settings: Partial<KeepaliveSettings> = {}): Stage {
  const { upstream, clock } = upstreamOf([member(1), member(2)], { keepalive: { ...DEFAULT_KEEPALIVE, local: false, ...settings } });
  return { upstream, clock, one: upstream.peer(1)!, two: upstream.peer(2)! };
}

test('the connection of a member that was used last is taken first, and only once', (t) => {
  const { upstream, one, two } = stage();
  const [first, second, other] = [new Connection(), new Connection(), new Connection()];
  t.true(upstream.keepalive.put(one, first, undefined));
  t.true(upstream.keepalive.put(two, other, undefined));
  t.true(upstream.keepalive.put(one, second, undefined));
  t.is(upstream.memory.idle, 3);
  t.is(upstream.keepalive.take(one, undefined), second);
  t.is(upstream.keepalive.take(one, undefined), first);
  t.is(upstream.keepalive.take(one, undefined), undefined);
  t.is(upstream.keepalive.take(two, undefined), other);
  t.is(upstream.memory.idle, 0);
  t.true(first.open && second.open && other.open);
});

test('beyond the limit the one that was idle longest is closed', (t) => {
  const { upstream, one, two } = stage({ connections: 2 });
  const [first, second, third] = [new Connection(), new Connection(), new Connection()];
  upstream.keepalive.put(one, first, undefined);
  upstream.keepalive.put(two, second, undefined);
  upstream.keepalive.put(one, third, undefined);
  t.deepEqual([first.open, second.open, third.open], [false, true, true]);
  t.is(upstream.keepalive.size, 2);
});

test('connections of one location are not used by another one', (t) => {
  const { upstream, one } = stage({ local: true });
  const [here, there] = [{}, {}];
  const connection = new Connection();
  upstream.keepalive.put(one, connection, here);
  t.is(upstream.keepalive.take(one, there), undefined);
  t.is(upstream.keepalive.take(one, here), connection);
});

test('a connection with TLS is for requests with the same certificate, and others do not close it', (t) => {
  const { upstream, one } = stage();
  const [first, second] = [{}, {}];
  const connections = [undefined, first, second].map((tls) => new Connection(1, 1_000_000, tls));
  for (const connection of connections) upstream.keepalive.put(one, connection, undefined);
  t.is(upstream.keepalive.take(one, undefined, {}), undefined);
  t.is(upstream.keepalive.take(one, undefined, first), connections[1]);
  t.is(upstream.keepalive.take(one, undefined, first), undefined);
  t.is(upstream.keepalive.take(one, undefined), connections[0]);
  t.is(upstream.keepalive.take(one, undefined, second), connections[2]);
});

test('what carried enough requests, is too old, or belongs to a removed member is closed', (t) => {
  const { upstream, clock, one } = stage({ requests: 10, time: 5000 });
  clock.now += 4999;
  const used = new Connection(10);
  t.false(upstream.keepalive.put(one, used, undefined));
  t.true(upstream.keepalive.put(one, new Connection(9), undefined));
  clock.now += 1;
  const old = new Connection(1);
  t.false(upstream.keepalive.put(one, old, undefined));
  upstream.updates.prepareRemove(one).commit();
  const late = new Connection(1, clock.now);
  t.false(upstream.keepalive.put(one, late, undefined));
  t.deepEqual([used.open, old.open, late.open], [false, false, false]);
  t.is(upstream.memory.idle, 0);
});

test('keepalive 0 keeps none', (t) => {
  const { upstream, one } = stage({ connections: 0 });
  const connection = new Connection();
  t.false(upstream.keepalive.put(one, connection, undefined));
  t.false(connection.open);
});

test('a connection that is closed by the member is forgotten', (t) => {
  const { upstream, one, two } = stage();
  const [first, second] = [new Connection(), new Connection()];
  upstream.keepalive.put(one, first, undefined);
  upstream.keepalive.put(two, second, undefined);
  first.onClosed?.(first);
  t.is(upstream.keepalive.take(one, undefined), undefined);
  t.is(upstream.keepalive.take(two, undefined), second);
  t.is(upstream.memory.idle, 0);
});

test('idle connections end after their time, and are not taken after it', async (t) => {
  const clock = new StandingClock(Date.now());
  const timers = new TimerWheel(clock);
  t.teardown(() => timers.stop());
  const { upstream } = upstreamOf([member(1)], { clock, timers, keepalive: { ...DEFAULT_KEEPALIVE, local: false, timeout: 1000 } });
  const peer = upstream.peer(1)!;
  const [first, second] = [new Connection(1, clock.now), new Connection(1, clock.now)];
  upstream.keepalive.put(peer, first, undefined);
  clock.now += 600;
  upstream.keepalive.put(peer, second, undefined);
  clock.now += 400;
  upstream.keepalive.onDeadline();
  t.deepEqual([first.open, second.open], [false, true]);
  clock.now += 600;
  t.is(upstream.keepalive.take(peer, undefined), undefined);
  upstream.keepalive.onDeadline();
  t.false(second.open);
  t.is(upstream.keepalive.size, 0);
});

test('smaller settings close what they do not allow', (t) => {
  const { upstream, one } = stage({ connections: 5 });
  const connections = Array.from({ length: 5 }, () => new Connection());
  for (const connection of connections) upstream.keepalive.put(one, connection, undefined);
  upstream.keepalive.configure({ ...DEFAULT_KEEPALIVE, local: false, connections: 2 });
  t.deepEqual(
    connections.map(({ open }) => open),
    [false, false, false, true, true],
  );
  upstream.keepalive.close();
  t.false(connections[4]?.open);
  t.false(upstream.keepalive.put(one, new Connection(), undefined));
});
