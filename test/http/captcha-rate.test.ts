/** The sliding second of `captcha_limit_rate`. */
import test from 'ava';
import { SHARED_FIELDS, SlidingSecond } from '../../modules/captcha/sliding-second.js';
import { ZoneRecords } from '../../core/zone/records.js';
import { Zone } from '../../core/zone/zone.js';

const BEGIN = 1_800_000_000_000;

function stage(size = 65_536) {
  const clock = { now: BEGIN };
  const records = ZoneRecords.open(Zone.create('z', size), { fields: SHARED_FIELDS, ttl: 10_000 }, clock)!;
  const second = new SlidingSecond(records, false);
  return { second, at: (ms: number, key = 'a') => second.add(key, (clock.now = BEGIN + ms)) };
}

test('never fewer than the requests of the last second, and never more than those of the last 1.05', (t) => {
  const { at } = stage();
  const times: number[] = [];
  let [now, seed] = [0, 7];
  for (let n = 0; n < 3000; n++) {
    seed = (seed * 48_271) % 2_147_483_647;
    now += seed % 3 === 0 ? seed % 400 : seed % 5;
    times.push(now);
    const within = (ms: number): number => times.filter((time) => time > now - ms).length;
    const counted = at(now);
    if (counted < within(1000) || counted > within(1050)) t.fail(`${counted} at ${now}: ${within(1000)} to ${within(1050)}`);
  }
  t.pass();
});

test('keys are counted apart, over long pauses, full slots and a clock that is set back', (t) => {
  const { at, second } = stage();
  t.is(at(0), 1);
  t.is(at(0, 'b'), 1);
  t.is(at(1050), 1);
  t.is(at(900_000), 1);
  for (let n = 0; n < 3000; n++) at(900_001);
  t.is(at(900_001), 1023);
  for (let slot = 1; slot <= 20; slot++) for (let n = 0; n < 1023; n++) at(900_001 + slot * 50);
  t.is(at(901_001), 21 * 1023);
  t.is(at(900_500), 21 * 1023, 'a little back');
  t.is(at(800_000), 1, 'far back');
  t.is(second.look('a', BEGIN + 800_000), 1);
  t.is(second.look('none', BEGIN), 0);
});
