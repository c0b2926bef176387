import test from 'ava';
import * as fc from 'fast-check';
import { Ring } from '../../core/toolkit/balancing/ring.js';
import { crc32, crc32OfNumber } from '../../core/toolkit/balancing/crc32.js';

const owners = ['a', 'b', 'c', 'd'].map((name) => ({ name }));

test('it finds what a sorted list finds, while points come and go', (t) => {
  const step = fc.record({ add: fc.boolean(), place: fc.integer({ min: 0, max: 2 ** 32 - 1 }), owner: fc.nat(3) });
  fc.assert(
    fc.property(
      fc.array(step, { maxLength: 1500 }),
      fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { maxLength: 20 }),
      (steps, keys) => {
        const ring = new Ring<{ name: string }>();
        const list: { place: number; owner: { name: string } }[] = [];
        for (const { add, place, owner } of steps) {
          if (add || list.length === 0) {
            ring.add(place, owners[owner]!);
            list.push({ place, owner: owners[owner]! });
          } else {
            const [gone] = list.splice(place % list.length, 1);
            ring.remove(gone!.place, gone!.owner);
          }
        }
        list.sort((one, other) => one.place - other.place || one.owner.name.localeCompare(other.owner.name));
        if (ring.size !== list.length) return false;
        if (list.length === 0) return ring.find(1) === -1;
        return keys.every((key) => {
          let at = list.findIndex(({ place }) => place >= key);
          if (at < 0) at = 0;
          let point = ring.find(key);
          for (let count = 0; count <= list.length; count++) {
            if (ring.ownerOf(point) !== list[at]!.owner) return false;
            point = ring.after(point);
            at = (at + 1) % list.length;
          }
          return true;
        });
      },
    ),
    { numRuns: 100 },
  );
  t.pass();
});

test('CRC-32 is that of IEEE 802.3, in pieces too', (t) => {
  t.is(crc32('123456789'), 0xcbf43926);
  t.is(crc32('56789', crc32('1234')), 0xcbf43926);
  t.is(crc32OfNumber(0x39383736, crc32('12345')), 0xcbf43926);
});
