import test from 'ava';
import * as fc from 'fast-check';
import { Slab } from '../../core/zone/slab.js';
import { Zone } from '../../core/zone/zone.js';
import { assertSound } from './sound.js';

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ alloc: fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 9000 })) }) },
    { weight: 2, arbitrary: fc.record({ release: fc.nat() }) },
  ),
  { maxLength: 300, size: 'max' },
);

for (const shared of [true, false]) {
  test(`blocks never overlap, nothing leaks, memory comes together again (${shared ? 'shared' : 'private'})`, (t) => {
    fc.assert(
      fc.property(steps, fc.boolean(), (list, repair) => {
        const zone = Zone.create('p', 65536, { shared });
        const all = zone.slab.free;
        const live: { offset: number; bytes: number; mark: number }[] = [];
        let mark = 0;
        for (const step of list) {
          if ('alloc' in step) {
            const offset = zone.slab.alloc(step.alloc);
            if (offset === 0) {
              if (zone.slab.free > 65536 - 4096) throw new Error(`no room for ${step.alloc} in an empty zone`);
              continue;
            }
            mark = (mark + 1) % 256;
            zone.bytes.fill(mark, offset, offset + step.alloc);
            live.push({ offset, bytes: step.alloc, mark });
          } else if (live.length > 0) {
            const [block] = live.splice(step.release % live.length, 1);
            zone.slab.release(block!.offset);
          }
          if (repair && mark % 16 === 0) zone.slab.repair();
          assertSound(zone);
        }
        for (const { offset, bytes, mark } of live)
          if (!zone.bytes.subarray(offset, offset + bytes).every((byte) => byte === mark))
            throw new Error(`block ${offset} was overwritten`);
        for (const { offset } of live) zone.slab.release(offset);
        return zone.slab.free === all && zone.slab.used === 0 && [...zone.slab.blocks()].length === 1;
      }),
      { numRuns: 150 },
    );
    t.pass();
  });
}

test('a zone of one size of block is filled to its last place, and again after all are given back', (t) => {
  const zone = Zone.create('full', 65536);
  const fill = () => {
    const blocks: number[] = [];
    for (let offset = zone.slab.alloc(300); offset !== 0; offset = zone.slab.alloc(300)) blocks.push(offset);
    return blocks;
  };
  const first = fill();
  t.true(zone.slab.free < Slab.cost(300));
  for (const [index, offset] of first.entries()) if (index % 2 === 0) zone.slab.release(offset);
  const second = fill();
  t.is(second.length, Math.ceil(first.length / 2));
});

test('giving back twice, or what was never given, is an error', (t) => {
  const zone = Zone.create('twice', 32768);
  const offset = zone.slab.alloc(100);
  zone.slab.alloc(100);
  zone.slab.release(offset);
  t.throws(() => zone.slab.release(offset), { instanceOf: RangeError });
  t.throws(() => zone.slab.release(7), { instanceOf: RangeError });
  t.throws(() => zone.slab.release(1 << 30), { instanceOf: RangeError });
});

test('private memory grows when it is full; offsets and content stay', (t) => {
  const zone = Zone.create('grow', 4096, { shared: false, growable: true });
  const offsets = Array.from({ length: 1000 }, (_, index) => {
    const offset = zone.slab.alloc(100);
    zone.u32[offset >>> 2] = index;
    return offset;
  });
  t.true(zone.size > 100_000);
  t.true(offsets.every((offset, index) => zone.u32[offset >>> 2] === index));
  t.is(new Set(offsets).size, 1000);
  for (const offset of offsets) zone.slab.release(offset);
  t.is(zone.slab.used, 0);
  assertSound(zone);
});
