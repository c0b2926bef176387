import test from 'ava';
import { Zone } from '../../core/zone/zone.js';
import { ZoneSet } from '../../core/zone/zone-set.js';

test('a zone of the same name and size is the same memory, of another size it is new', (t) => {
  const zones = new ZoneSet('create');
  const first = zones.open('a', 65536, 'upstream');
  t.is(zones.open('a', 65536, 'upstream'), first);
  const larger = zones.open('a', 131072, 'upstream');
  t.not(larger, first);
  zones.close(first);
  t.is(zones.open('a', 65536, 'upstream'), first);
  zones.close(first);
  zones.close(first);
  t.not(zones.open('a', 65536, 'upstream'), first);
});

test('a zone of the same name and size for another use is new', (t) => {
  const zones = new ZoneSet('create');
  const there = new ZoneSet('adopt');
  const first = zones.open('a', 65536, 'upstream');
  const second = zones.open('a', 65536, 'limit_req_zone');
  t.not(second, first);
  there.adopt(zones.shares());
  t.is(there.open('a', 65536, 'upstream').buffer as SharedArrayBuffer, first.buffer as SharedArrayBuffer);
  t.is(there.open('a', 65536, 'limit_req_zone').buffer as SharedArrayBuffer, second.buffer as SharedArrayBuffer);
});

test('another thread opens what was shared with it, and only that', (t) => {
  const zones = new ZoneSet('create');
  const there = new ZoneSet('adopt');
  const a = zones.open('a', 65536, 'upstream');
  there.adopt(zones.shares());
  const seen = zones.last;
  t.is(there.open('a', 65536, 'upstream').buffer as SharedArrayBuffer, a.buffer as SharedArrayBuffer);
  t.throws(() => there.open('b', 65536, 'upstream'), { message: /has not been shared/ });
  zones.open('b', 65536, 'upstream');
  t.deepEqual(
    zones.shares(seen).map(({ name }) => name),
    ['b'],
  );
  there.adopt(zones.shares(seen));
  t.notThrows(() => there.open('b', 65536, 'upstream'));
});

test('a zone that was given up and made again is other memory everywhere', (t) => {
  const zones = new ZoneSet('create');
  const there = new ZoneSet('adopt');
  const first = zones.open('a', 65536, 'upstream');
  there.adopt(zones.shares());
  there.open('a', 65536, 'upstream');
  const seen = zones.last;
  zones.close(first);
  there.close(there.open('a', 65536, 'upstream'));
  const second = zones.open('a', 65536, 'upstream');
  t.not(second, first);
  there.adopt(zones.shares(seen));
  t.is(there.open('a', 65536, 'upstream').buffer as SharedArrayBuffer, second.buffer as SharedArrayBuffer);
});

test('memory that is no zone is rejected', (t) => {
  t.throws(() => Zone.attach('x', new SharedArrayBuffer(65536)), { message: 'not the memory of a zone: "x"' });
});
