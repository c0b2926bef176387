import test from 'ava';
import { SharedPool } from '../../core/control/shared-pool.js';
import { ApiError } from '../../core/module/control.js';

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
