import { threadId } from 'node:worker_threads';
import test from 'ava';
import type { RecordFields } from '../../core/contract/zones.js';
import { HashTable } from '../../core/zone/hash-table.js';
import { numberOf } from '../../core/zone/offsets.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { Zone } from '../../core/zone/zone.js';
import { Random } from './random.js';

const FIELDS = ['a', 'b'] as const;
type AB = Record<'a' | 'b', number>;

const addToA = (fields: AB, amount: number): boolean => {
  fields.a += amount;
  return true;
};
const incrementB = (fields: AB): boolean => ++fields.b > 0;
const broken = (): boolean => {
  throw new Error('broken');
};
const notANumber = (fields: AB): boolean => {
  fields.a = NaN;
  return true;
};

const textInB = (fields: AB): boolean => {
  Object.assign(fields, { b: '7' });
  return true;
};

function stage(options: { size?: number; ttl?: number; evict?: boolean } = {}) {
  const { size = 65536, ...rest } = options;
  const clock = { now: 1_000_000 };
  const zone = Zone.create('z', size);
  const records = ZoneRecords.open(zone, { fields: FIELDS, ...rest }, clock)!;
  return { clock, zone, records };
}

test('a record begins with zeros, and is kept only if the change says so', (t) => {
  const { records } = stage();
  t.is(records.get('k'), undefined);
  t.is(
    records.update('k', (fields) => fields.a > 0, undefined),
    'unchanged',
  );
  t.is(records.size, 0);
  t.is(records.update('k', addToA, 3), 'stored');
  t.is(records.update('k', addToA, 4.5), 'stored');
  t.deepEqual(records.get('k'), { a: 7.5, b: 0 });
  t.is(records.add('k', 'b', -2), -2);
  t.is(records.add('new', 'b', 1), 1);
  t.deepEqual(Object.fromEntries(records.entries()), { k: { a: 7.5, b: -2 }, new: { a: 0, b: 1 } });
  t.true(records.delete('k'));
  t.false(records.delete('k'));
});

test('a change is made again when another worker was faster', (t) => {
  const { zone, clock, records } = stage();
  const other = ZoneRecords.open(zone, { fields: FIELDS }, clock)!;
  let calls = 0;
  const change = (fields: AB): boolean => {
    if (calls++ === 0) other.add('k', 'a', 10);
    fields.a += 1;
    return true;
  };
  t.is(records.update('k', change, undefined), 'stored');
  t.is(calls, 2);
  t.deepEqual(records.get('k'), { a: 11, b: 0 });
});

test('a change may look at other records, and must not change them', (t) => {
  const { records } = stage();
  records.add('inner', 'b', 5);
  for (const step of [
    () => records.update('inner', incrementB, undefined),
    () => records.update('outer', incrementB, undefined),
    () => records.add('inner', 'b', 1),
    () => records.delete('inner'),
  ]) {
    const change = (fields: AB): boolean => {
      fields.a += records.get('inner')?.b ?? 0;
      step();
      return true;
    };
    t.throws(() => records.update('outer', change, undefined), { message: 'a change of a record must not change records' });
  }
  t.is(records.get('outer'), undefined);
  t.is(records.update('outer', addToA, 1), 'stored');
  t.deepEqual(records.get('inner'), { a: 0, b: 5 });
});

test('a field of numbers keeps numbers alone', (t) => {
  const { records } = stage();
  t.throws(() => records.update('k', textInB, undefined), { message: `field "b" of a record must be a number, not '7'` });
  t.is(records.get('k'), undefined);
});

test('a change that throws leaves the record as it was, and the next one works', (t) => {
  const { records } = stage();
  t.throws(() => records.update('k', broken, undefined), { message: 'broken' });
  t.is(records.add('k', 'a', 1), 1);
});

test('numbers that are none do not keep a change from ending', (t) => {
  const { records } = stage();
  t.is(records.update('k', notANumber, undefined), 'stored');
  t.is(records.update('k', notANumber, undefined), 'stored');
});

test('a record expires its time after its last change', (t) => {
  const { records, clock } = stage({ ttl: 1000 });
  records.add('k', 'a', 1);
  clock.now += 999;
  t.is(records.add('k', 'a', 1), 2);
  clock.now += 999;
  t.deepEqual(records.get('k'), { a: 2, b: 0 });
  clock.now += 1;
  t.is(records.get('k'), undefined);
  t.is(records.entries().length, 0);
  t.is(records.add('k', 'a', 1), 1);
});

test('a full zone drops what was used longest ago, expired records first', (t) => {
  const { records, clock } = stage({ size: 32768, ttl: 1000 });
  let key = 0;
  while (records.evicted === 0) records.add(String(key++), 'a', 1);
  t.is(records.get('0'), undefined);
  t.not(records.get('1'), undefined);
  clock.now += 2000;
  const { size } = records;
  for (let times = 0; times < 20; times++) records.add(String(key++), 'a', 1);
  t.is(records.evicted, 1, 'room was made by what has expired');
  t.true(records.size < size);
});

test('without eviction a full zone takes no more, and keeps what it has', (t) => {
  const { records } = stage({ size: 32768, evict: false });
  let key = 0;
  while (records.add(String(key), 'a', 1) !== undefined) key++;
  t.is(
    records.update('more', () => true, undefined),
    'full',
  );
  t.is(records.size, key);
  t.is(records.add('0', 'a', 1), 2);
});

const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).join('');

function withStrings(name: string, all = bytes) {
  return (fields: RecordFields<'count', 'name' | 'all'>): boolean => {
    fields.count++;
    fields.name = name;
    fields.all = all;
    return true;
  };
}

test('a record may have strings of bytes, of any length up to their size', (t) => {
  const zone = Zone.create('z', 65536);
  const options = { fields: ['count'], strings: { name: 5, all: 256 } } as const;
  const records = ZoneRecords.open(zone, options, { now: 1 })!;
  for (const name of ['', 'a', 'abcde', 'x']) {
    t.is(records.update('k', withStrings(name), undefined), 'stored');
    t.like(records.get('k'), { name, all: bytes });
  }
  t.is(ZoneRecords.open(zone, options, { now: 1 })!.get('k')?.count, 4, 'the same fields find the same records');
  t.is(records.add('new', 'count', 1), 1);
  t.deepEqual(records.get('new'), { count: 1, name: '', all: '' });
  t.throws(() => records.update('k', withStrings('abcdef'), undefined), {
    instanceOf: RangeError,
    message: /"name" has 6 bytes: it may have 5/,
  });
  t.throws(() => records.update('k', withStrings('a', '€'), undefined), {
    instanceOf: RangeError,
    message: /"all" has characters that are not bytes/,
  });
  t.like(records.get('k'), { count: 4, name: 'x' });
  t.throws(() => ZoneRecords.open(zone, { fields: [], strings: { none: 0 } }, { now: 1 }), { instanceOf: RangeError });
});

const setFirst = (fields: { last: string }): boolean => {
  fields.last = 'first';
  return true;
};

test('a string that another worker has changed makes the change again', (t) => {
  const zone = Zone.create('z', 65536);
  const options = { fields: [], strings: { last: 8 } } as const;
  const [one, other] = [ZoneRecords.open(zone, options, { now: 1 })!, ZoneRecords.open(zone, options, { now: 1 })!];
  let calls = 0;
  const appended = (fields: { last: string }): boolean => {
    if (calls++ === 0) other.update('k', setFirst, undefined);
    fields.last += '!';
    return true;
  };
  t.is(one.update('k', appended, undefined), 'stored');
  t.is(one.get('k')?.last, 'first!');
});

test('a record that a worker was storing when it died is dropped', (t) => {
  const zone = Zone.create('z', 65536);
  const options = { fields: ['count'], strings: { name: 5, all: 256 } } as const;
  const records = ZoneRecords.open(zone, options, { now: 1 })!;
  records.update('whole', withStrings('a'), undefined);
  records.update('part', withStrings('b'), undefined);
  // As far as a thread comes that dies in the middle: the mark is set, the rest is mixed.
  const table = HashTable.find(zone, 'records count,name:5,all:256')!;
  zone.enter();
  const part = table.find('part');
  zone.f64[numberOf(part)] = 0;
  zone.f64[numberOf(part) + 1] = 99;
  t.true(zone.releaseOf(threadId));
  t.is(records.get('part'), undefined);
  t.like(records.get('whole'), { count: 1, name: 'a' });
});

test('it does what a map does', (t) => {
  const { records } = stage({ size: 1 << 20 });
  const random = new Random(5);
  const model = new Map<string, number>();
  for (let step = 0; step < 20_000; step++) {
    const key = `key ${random.below(300)}`;
    if (random.below(5) === 0) t.is(records.delete(key), model.delete(key));
    else {
      model.set(key, (model.get(key) ?? 0) + step);
      records.add(key, 'a', step);
    }
  }
  t.deepEqual(Object.fromEntries(records.entries().map(([key, { a }]) => [key, a])), Object.fromEntries(model));
});

test('an amount that is not a number, and a change that waits, are rejected and change nothing', (t) => {
  const { records } = stage();
  records.add('k', 'a', 1);
  t.throws(() => records.add('k', 'a', NaN), { instanceOf: RangeError });
  const late = (async (fields: AB) => addToA(fields, 1)) as unknown as () => boolean;
  t.throws(() => records.update('k', late, undefined), { instanceOf: TypeError });
  t.deepEqual({ ...records.get('k') }, { a: 1, b: 0 });
});

test('whoever stores is told of the records that had to go for the new one', (t) => {
  const zone = Zone.create('z', 16384);
  const clock = { now: 1_000_000 };
  const told: string[] = [];
  const evicted = (key: string, { a }: { readonly a: number }): void => void told.push(`${key} ${a}`);
  const records = ZoneRecords.open<'a'>(zone, { fields: ['a'], ttl: 1000, evicted }, clock)!;
  let next = 0;
  while (records.evicted === 0) records.add(`k${next++}`, 'a', next);
  t.deepEqual(told, ['k0 1']);
  records.update(`k${next++}`, (fields) => (fields.a = 7) > 0, undefined);
  t.deepEqual(told, ['k0 1', 'k1 2']);
  records.delete('k2');
  clock.now += 2000;
  for (let count = 0; count < 3; count++) records.add(`late${count}`, 'a', 1);
  t.deepEqual(told, ['k0 1', 'k1 2'], 'not of those that are deleted or have expired');
});
