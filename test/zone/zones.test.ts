import test from 'ava';
import { ApiError } from '../../core/module/control.js';
import { SharedPool } from '../../core/zone/shared-pool.js';
import { Zone } from '../../core/zone/zone.js';
import { Zones } from '../../core/zone/zones.js';

test('a zone of the same name and size is the same memory, of another size it is new', (t) => {
  const zones = new Zones('create');
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

test('a zone has one purpose', (t) => {
  const zones = new Zones('create');
  zones.open('a', 65536, 'upstream');
  t.throws(() => zones.open('a', 65536, 'limit_req_zone'), {
    message: 'the shared memory zone "a" is already declared for a different use',
  });
});

test('another thread opens what was shared with it, and only that', (t) => {
  const zones = new Zones('create');
  const there = new Zones('adopt');
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
  const zones = new Zones('create');
  const there = new Zones('adopt');
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

test('memory that is no zone is refused', (t) => {
  t.throws(() => Zone.attach('x', new SharedArrayBuffer(65536)), { message: 'not the memory of a zone: "x"' });
});

test('the pool of dynamic zones has a limit, and says what to do about it', (t) => {
  const pool = new SharedPool(1024);
  pool.reserve('a', 600);
  const error = t.throws(() => pool.reserve('b', 600), { instanceOf: ApiError });
  t.like(error, { status: 507, code: 'SharedPoolExhausted' });
  t.is(
    error.message,
    'no memory for zone "b": it needs 600 bytes, 424 of 1024 are free; raise shared_slab_pool_size to 1200 at least and reload, or remove a dynamic upstream',
  );
  t.throws(() => pool.resize(500), { message: /less than the 600 bytes/ });
  pool.resize(1200);
  pool.reserve('b', 600);
  pool.release('a');
  t.is(pool.used, 600);
  pool.reserve('c', 600);
});
