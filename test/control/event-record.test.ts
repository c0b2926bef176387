import test from 'ava';
import { EventRecord } from '../../core/api/event-record.js';
import { CertificateWatch } from '../../core/toolkit/tls/certificate-watch.js';
import { selfSigned } from '../harness/certificate.js';

const DAY = 86_400_000;

/** A record with so many events of its own. */
function recordOf(count: number): EventRecord {
  const record = new EventRecord(() => 'here');
  for (let n = 0; n < count; n++) record.record({ type: 'test.event', subject: [String(n % 7)], data: `{"n":${n}}` });
  return record;
}

const numbersOf = (record: EventRecord, after?: string): number[] =>
  record.read(after, 5000).events.map(({ text }) => (JSON.parse(text) as { data: { n: number } }).data.n);

test('a reader goes on after the event it has, page by page', (t) => {
  const record = recordOf(10);
  const { events, last } = record.read(undefined, 4);
  t.is(events.length, 4);
  t.deepEqual(numbersOf(record, events[3]?.id), [4, 5, 6, 7, 8, 9]);
  t.deepEqual(record.read(last, 10), { events: [], last });
});

test('of many events the last ones are kept; a reader that lacks others hears how many', (t) => {
  const record = recordOf(10);
  const { last } = record.read(undefined, 5000);
  for (let n = 10; n < 5000; n++) record.record({ type: 'test.event', subject: [], data: `{"n":${n}}` });
  const page = record.read(last, 5000);
  t.true(page.events.length >= 1024 && page.events.length <= 2048);
  t.is(page.gap, `${4990 - page.events.length} events are not kept any more`);
  t.is(numbersOf(record, last).at(-1), 4999);
});

test('ids of another start, of the future and of nobody are a gap', (t) => {
  const record = recordOf(3);
  const [start] = record.read(undefined, 1).last.split('-');
  for (const id of ['', 'x', 'abc-1', `${start}-4`, `${start}-x`, `${start}-1e0`]) t.is(typeof record.read(id, 10).gap, 'string', id);
  t.is(record.read(`${start}-0`, 10).gap, undefined);
});

test('one who waits for the next event gets it, or nothing when the time is over', async (t) => {
  const record = recordOf(1);
  const { last } = record.read(undefined, 1);
  await record.wait(last, 1);
  t.deepEqual(numbersOf(record, last), []);
  const waiting = record.wait(last, 60_000);
  record.publish('test.event', { n: 1 });
  await waiting;
  t.deepEqual(numbersOf(record, last), [1]);
  await record.wait(last, 60_000);
});

test('a sink that comes later gets the last event of each topic, of the newest 1,024 topics', (t) => {
  const record = recordOf(10);
  const kept = new Map<string, string | undefined>();
  record.sendTo({ keep: (topic, text) => void kept.set(topic, text) });
  t.is(kept.size, 7);
  t.regex(kept.get('srv/events/test.event/2') ?? '', /"data":\{"n":9\}/);
  record.forget('test.event', ['2']);
  t.is(kept.get('srv/events/test.event/2'), undefined);
  for (let n = 0; n < 1024; n++) record.record({ type: 'test.other', subject: [`/+#${n}`], data: '{}' });
  t.is([...kept.values()].filter((text) => text !== undefined).length, 1024);
  t.is(typeof kept.get('srv/events/test.other/%2f%2b%231023'), 'string');
});

test('data that is no JSON, or too long, is rejected', (t) => {
  const record = recordOf(0);
  const circle: Record<string, unknown> = {};
  circle['circle'] = circle;
  t.throws(() => record.publish('test.event', circle), { instanceOf: TypeError });
  t.throws(() => record.publish('test.event', { text: 'x'.repeat(17_000) }), { instanceOf: RangeError });
  t.throws(() => record.publish('event', {}), { instanceOf: TypeError });
});

test('a certificate is told of once a day, from its warning time on, and not after it was renewed', (t) => {
  const record = recordOf(0);
  const kept = new Map<string, string | undefined>();
  record.sendTo({ keep: (topic, text) => void kept.set(topic, text) });
  const told = (): boolean[] =>
    record.read(undefined, 100).events.map(({ text }) => (JSON.parse(text) as { data: { expired: boolean } }).data.expired);
  const watch = new CertificateWatch(record);
  // Good for a day.
  const served = { names: ['a.example'], chains: [Buffer.from(selfSigned('a.example').cert)], warning: DAY / 2 };
  const now = Date.now();
  watch.add(served);
  watch.check(now);
  watch.check(now + DAY / 2);
  t.deepEqual(told(), []);
  watch.check(now + DAY);
  watch.check(now + DAY + 1000);
  t.deepEqual(told(), [true]);
  watch.check(now + 2 * DAY);
  t.deepEqual(told(), [true, true]);
  const isKept = (): boolean =>
    [...kept].some(([topic, text]) => topic.startsWith('srv/events/certificate.expiring/a.example/') && text !== undefined);
  t.true(isKept());
  watch.add({ ...served, warning: 0 });
  watch.delete(served);
  watch.check(now + 3 * DAY);
  t.deepEqual(told(), [true, true]);
  t.false(isKept());
});
