import test from 'ava';
import { LogRecordFeed } from '../../core/log/error-record.js';
import type { AccessEntry, FedEntry } from '../../modules/live_log/entry.js';
import { EntryRing } from '../../modules/live_log/entry-ring.js';
import { EntrySender } from '../../modules/live_log/entry-sender.js';
import { LogFeed } from '../../modules/live_log/feed.js';
import { parseFilter } from '../../modules/live_log/filter.js';
import { LogStream } from '../../modules/live_log/stream.js';
import { FakeDataPlane } from '../../testing/data-plane.js';
import { FakeTasks } from '../../testing/tasks.js';

const entry = (fields: Partial<AccessEntry> = {}): AccessEntry => ({
  kind: 'access',
  time: '2026-01-01T00:00:00.000Z',
  server: 'shop.example',
  client: '10.0.0.1',
  method: 'GET',
  uri: '/',
  protocol: 'HTTP/1.1',
  host: 'shop.example',
  status: 200,
  bytes: 10,
  duration: 0.5,
  request_id: 'r',
  connection: 1,
  worker: 0,
  ...fields,
});

test('a worker sends no more than 400 lines at a time, and says how many it has left out', async (t) => {
  const [tasks, sent] = [new FakeTasks(), [] as FedEntry[]];
  const sender = new EntrySender(tasks, (entries) => void sent.push(...entries));
  for (let n = 0; n < 450; n++) if (sender.admits()) sender.add(entry());
  t.is(sent.length, 0);
  await tasks.pass(60);
  t.is(sent.length, 401);
  t.like(sent.at(-1), { kind: 'lost', count: 50 });
  t.true(sender.admits());
  t.is(tasks.waiting, 0);
});

test('a slow client misses lines and gets their number', async (t) => {
  const [tasks, plane] = [new FakeTasks(), new FakeDataPlane({ 'live_log.read': () => new Promise(() => undefined) })];
  const feed = new LogFeed(plane, tasks);
  feed.enter = () => Promise.resolve();
  const stream = new LogStream(feed, { filter: '', wants: parseFilter('status=500'), leaving: new AbortController().signal });
  t.is((await stream.next()).value, 'retry: 1000\n\n');
  feed.ring.add(Array.from({ length: 5000 }, (_, n) => entry({ status: n === 4999 ? 500 : 200 })));
  const first = String((await stream.next()).value);
  t.regex(first, /^event: lost\ndata: \{"kind":"lost","time":"[^"]+","count":2952,"reason":"read too slowly"\}\n\n$/);
  t.regex(String((await stream.next()).value), /^event: access\ndata: .*"status":500/);
  await stream.return();
  t.true((await stream.next()).done);
});

test('positions of a ring stay while it forgets entries', async (t) => {
  const ring = new EntryRing();
  t.false(await ring.wait(0, 1));
  const waiting = ring.wait(0, 60_000);
  ring.add([entry({ uri: '/first' })]);
  t.true(await waiting);
  t.deepEqual(
    ring.read(0, 10).entries.map((found) => 'uri' in found && found.uri),
    ['/first'],
  );
  t.is(ring.read(0, 10).next, 1);
});

const FILTERS: readonly (readonly [filter: string, yes: Partial<AccessEntry>, no: Partial<AccessEntry>])[] = [
  ['status=5xx', { status: 599 }, { status: 499 }],
  ['status!=2xx', { status: 304 }, { status: 204 }],
  ['status>=500 status<504', { status: 503 }, { status: 504 }],
  ['time>1s', { duration: 1.001 }, { duration: 1 }],
  ['time<=250ms', { duration: 0.25 }, { duration: 0.251 }],
  ['client=10.0.0.0/8', { client: '10.9.9.9' }, { client: '11.0.0.1' }],
  ['client!=2001:db8::/32', { client: '2001:db9::1' }, { client: '2001:db8::1' }],
  ['  path=/a=b  ', { uri: '/a=b/c' }, { uri: '/a' }],
  ['upstream=10.0.0.1:80', { upstream: '10.0.0.1:80' }, {}],
  ['kind=access method!=GET', { method: 'POST' }, { method: 'GET' }],
];

test('terms of filters', (t) => {
  for (const [filter, yes, no] of FILTERS) {
    t.true(parseFilter(filter)(entry(yes)), filter);
    t.false(parseFilter(filter)(entry(no)), filter);
  }
  const warn = parseFilter('level>=warn');
  const line = { kind: 'error', time: '', message: '', worker: 0 } as const;
  t.deepEqual([warn({ ...line, level: 'error' }), warn({ ...line, level: 'notice' }), warn(entry())], [true, false, false]);
  t.throws(() => parseFilter('a=b '.repeat(17)), { message: /more than 16/ });
  t.throws(() => parseFilter('constructor=1'), { message: /unknown field/ });
});

test('a listener of the error log that throws gets no further lines', (t) => {
  const feed = new LogRecordFeed();
  const [seen, failed]: [string[], unknown[]] = [[], []];
  feed.follow(() => {
    throw new Error('broken');
  });
  const end = feed.follow(({ message }) => seen.push(message));
  const record = { time: 0, level: 'error', origin: '1#0', message: 'x' } as const;
  for (let n = 0; n < 2; n++) feed.pass(record, (error) => failed.push(error));
  t.deepEqual(seen, ['x', 'x']);
  t.is(failed.length, 1);
  end();
  t.false(feed.isFollowed);
});
