import test from 'ava';
import { TrafficFigures, FIGURES_SIZE } from '../../core/http/request/figures.js';
import { EventRecord } from '../../core/api/event-record.js';
import { carriedZones } from '../../core/zone/carried-zones.js';
import { SharedFigures } from '../../core/zone/figures.js';
import type { CarriedState } from '../../core/zone/carried-state.js';
import { ZoneHolds } from '../../core/zone/holds.js';
import { ZoneMetrics } from '../../core/zone/metrics.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { Zone } from '../../core/zone/zone.js';
import { ZoneSet } from '../../core/zone/zone-set.js';

const WORKERS = 3;
const PLACE = WORKERS - 1;

/** What one program gives travels to the other. */
function handover(from: CarriedState, to: CarriedState): () => void {
  const give = from.give();
  let isFirst = true;
  return () => {
    const data: unknown = give();
    if (data === undefined) return;
    const sent: unknown = JSON.parse(JSON.stringify(data));
    if (isFirst) to.expect?.(sent);
    isFirst = false;
    to.take(sent);
  };
}

function zoneStage(size = 1 << 20, use = 'limit $key') {
  const clock = { now: Date.now() };
  const zone = Zone.create('z', size);
  const records = ZoneRecords.open(zone, { fields: ['last', 'excess'], ttl: 60_000, strings: { name: 8 } }, clock)!;
  const carried = carriedZones(() => [{ zone, use }], { place: PLACE, workers: WORKERS });
  return { clock, zone, records, carried };
}

function put(stage: ReturnType<typeof zoneStage>, key: string, excess: number): void {
  stage.records.update(
    key,
    (fields) => {
      Object.assign(fields, { last: 1, excess, name: 'n\xff' });
      return true;
    },
    undefined,
  );
}

test('records are taken over, and those that change later follow', (t) => {
  const [old, next] = [zoneStage(), zoneStage(1 << 19)];
  put(old, 'a\xfc', 1);
  put(old, 'b', 2);
  const step = handover(old.carried, next.carried);
  step();
  t.deepEqual(next.records.get('a\xfc'), { last: 1, excess: 1, name: 'n\xff' });
  t.deepEqual(
    next.records.entries().map(([key]) => key),
    ['b', 'a\xfc'],
    'in the order of their use',
  );
  old.clock.now += 5;
  put(old, 'b', 3);
  put(old, 'c', 4);
  next.clock.now += 10;
  put(next, 'a\xfc', 9);
  step();
  t.is(next.records.get('b')?.excess, 3);
  t.is(next.records.get('c')?.excess, 4);
  old.clock.now += 1;
  put(old, 'a\xfc', 5);
  step();
  t.is(next.records.get('a\xfc')?.excess, 9, 'what was changed here later stays');
});

test('nothing moves into a zone that is for something else, or too small', (t) => {
  const old = zoneStage();
  for (let key = 0; key < 1000; key++) put(old, `key ${key}`, key);
  const other = zoneStage(1 << 20, 'limit $other');
  handover(old.carried, other.carried)();
  t.is(other.records.size, 0);
  const small = zoneStage(1 << 15);
  handover(old.carried, small.carried)();
  t.true(small.records.size > 10);
  t.is(small.records.get('key 999')?.excess, 999, 'those used last are there');
});

test('what connections of the program before hold counts, until they end or it does', (t) => {
  const [old, next] = [zoneStage(), zoneStage()];
  const oldWorker = ZoneHolds.open(old.zone, 0, WORKERS)!;
  const worker = ZoneHolds.open(next.zone, 0, WORKERS)!;
  for (let held = 0; held < 3; held++) oldWorker.acquire('k', 9);
  oldWorker.acquire('other', 9);
  const step = handover(old.carried, next.carried);
  step();
  t.is(worker.count('k'), 3);
  t.is(worker.acquire('k', 3), 'rejected');
  oldWorker.release('k');
  oldWorker.release('other');
  step();
  t.is(worker.count('other'), 0);
  t.is(worker.acquire('k', 3), 'held');
  ZoneHolds.find(next.zone, WORKERS)!.dropWorker(PLACE);
  t.is(worker.count('k'), 1, 'its own is left');
});

test('metrics go on, and gauges end with the program before', (t) => {
  const stage = () => {
    const metrics = new ZoneMetrics({ zones: new ZoneSet('create'), worker: 0, workers: WORKERS, onFull: () => t.fail() });
    metrics.open();
    return metrics;
  };
  const [old, next] = [stage(), stage()];
  old.counter('hits', { zone: 'a' }).add(2 ** 40);
  old.gauge('busy').set(7);
  old.histogram('time', [1, 10]).observe(5);
  const step = handover(old.carried(PLACE), next.carried(PLACE));
  step();
  next.counter('hits', { zone: 'a' }).add(1);
  next.gauge('busy').set(1);
  old.counter('hits', { zone: 'a' }).add(3);
  old.gauge('busy').set(2);
  old.histogram('time', [1, 10]).observe(50);
  step();
  t.is(next.counter('hits', { zone: 'a' }).value, 2 ** 40 + 4);
  t.is(next.gauge('busy').value, 3);
  t.like(next.histogram('time', [1, 10]).value, { count: 2, sum: 55 });
  next.dropWorker(PLACE);
  t.is(next.gauge('busy').value, 1);
});

test('figures of connections go on', (t) => {
  const [old, next] = [0, 1].map(() => new TrafficFigures(new SharedArrayBuffer(FIGURES_SIZE), 0)) as [TrafficFigures, TrafficFigures];
  for (let count = 0; count < 3; count++) old.countAccepted();
  old.countHandled();
  const step = handover(old.carried(PLACE), next.carried(PLACE));
  step();
  next.countAccepted();
  t.is(next.accepted, 4);
  t.is(next.active, 1);
  old.countClosed();
  old.countAccepted();
  step();
  t.is(next.accepted, 5);
  t.is(next.active, 0);
});

test('readers of events go on where they were', (t) => {
  const [old, next] = [new EventRecord(() => 'here'), new EventRecord(() => 'here')];
  for (let count = 0; count < 5; count++) old.publish('peer.down', { count }, [String(count)]);
  const { events, last } = old.read(undefined, 3);
  handover(old.carried, next.carried)();
  next.publish('peer.up', { count: 5 }, ['5']);
  const page = next.read(events.at(-1)?.id, 10);
  t.is(page.gap, undefined);
  t.deepEqual(
    page.events.map(({ type }) => type),
    ['peer.down', 'peer.down', 'peer.up'],
  );
  t.is(next.read(last, 10).events.length, 1);
});

test('rows of figures go on: rows of both configurations, and rows that requests have found', (t) => {
  const [old, next] = [zoneStage(), zoneStage()];
  const shape = { counters: 2, gauges: 1, distributions: 1 };
  const scope = { register: () => undefined };
  const open = ({ zone, clock }: typeof old, worker: number): SharedFigures => SharedFigures.open(zone, worker, WORKERS, clock)!;
  const [worker, main] = [open(old, 0), open(next, -1)];
  const server = worker.held('server', shape, scope);
  worker.held('removed', shape, scope).add(0, 5);
  worker.held('changed', shape, scope).add(0, 5);
  const member = worker.row('member', shape)!;
  main.held('server', shape, scope);
  main.held('changed', { ...shape, counters: 3 }, scope);
  server.add(1, 7);
  server.move(0, 2);
  server.observe(0, 40);
  member.add(0, 3);
  const step = handover(old.carried, next.carried);
  step();
  server.add(1, 1);
  server.move(0, -1);
  server.observe(0, 41);
  step();
  step();
  const totals = new Map(main.totals().map((row) => [row.key, row]));
  t.deepEqual([...totals.keys()].sort(), ['changed', 'member', 'server']);
  const { createdAt } = open(old, -1)
    .totals()
    .find(({ key }) => key === 'server')!;
  t.is(totals.get('server')!.createdAt, createdAt, 'it counts since then');
  t.is(totals.get('server')!.counter(1), 8);
  t.is(totals.get('server')!.gauge(0), 1);
  const { count, sum } = totals.get('server')!.distribution(0);
  t.deepEqual([count, sum], [2, 81]);
  t.is(totals.get('member')!.counter(0), 3);
  t.is(totals.get('changed')!.counter(0), 0, 'it counts something else');
  t.deepEqual(
    main.totals().map(({ hasEnded }) => hasEnded),
    [false, false, false],
  );
  SharedFigures.dropWorker(next.zone, PLACE, WORKERS);
  t.deepEqual([totals.get('server')!.counter(1), totals.get('server')!.gauge(0)], [8, 0], 'the program before has ended');
});
