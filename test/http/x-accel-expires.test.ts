import test from 'ava';
import { expiryOf } from '../../core/http/member/accel.js';

test('X-Accel-Expires: seconds from now, a moment, not at all, nonsense', (t) => {
  const now = 1_000_000;
  t.is(expiryOf('60', now), 1_060_000);
  t.is(expiryOf('@1200', now), 1_200_000);
  t.is(expiryOf('0', now), 0);
  t.is(expiryOf('@0', now), 0);
  for (const value of ['', '@', '-1', '1.5', 'never', '9'.repeat(20)]) t.is(expiryOf(value, now), undefined, value);
});
