import test from 'ava';
import type { AddressRecord, Resolution } from '../../core/net/dns/resolution.js';
import type { ResolveErrorCode } from '../../core/net/dns/resolve-error.js';
import { NameWatch } from '../../core/upstream/discovery/name-watch.js';

const watch = (random = 0): NameWatch<AddressRecord> =>
  new NameWatch<AddressRecord>({ grace: 30_000, familyOf: ({ family }) => family, random: () => random });

/** @param ttl in seconds */
function reply(ttl: number, error?: ResolveErrorCode): Resolution<AddressRecord> {
  const records = error === undefined ? [{ address: '10.0.0.1', family: 4 as const }] : [];
  return { name: 'a.test', records, error, families: [4, 6], ttl };
}

for (const [ttl, delay] of [
  [0, 1000],
  [1, 1000],
  [60, 60_000],
  [86_400, 3_600_000],
] as const) {
  test(`a TTL of ${ttl} s is ${delay} ms, and up to 10 % later by chance`, (t) => {
    for (const [random, factor] of [
      [0, 1],
      [0.5, 1.05],
    ] as const) {
      const name = watch(random);
      name.take(reply(ttl), 0);
      t.is(Math.round(name.delay), delay * factor);
    }
  });
}

test('failures are followed by longer and longer pauses, up to 30 s, and a reply by none', (t) => {
  const name = watch();
  const delays = Array.from({ length: 8 }, (_, round) => {
    name.take(reply(1, round % 2 === 0 ? 'timedout' : 'servfail'), round);
    return name.delay;
  });
  t.deepEqual(delays, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  name.take(reply(5), 10);
  t.is(name.delay, 5000);
  name.take(reply(1, 'refused'), 10);
  t.is(name.delay, 1000);
});

test('a name that does not exist is asked for as its SOA says, and when its time of grace is over', (t) => {
  const name = watch();
  name.take(reply(60), 0);
  name.take(reply(20, 'nxdomain'), 0);
  t.is(name.delay, 20_000);
  name.take(reply(20, 'nxdomain'), 20_000);
  t.is(name.delay, 10_000);
  t.is(name.records.length, 1);
  name.take(reply(300, 'nxdomain'), 30_000);
  t.is(name.delay, 300_000);
  t.deepEqual(name.records, []);
});
