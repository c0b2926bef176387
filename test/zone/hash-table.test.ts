import test from 'ava';
import * as fc from 'fast-check';
import { HashTable } from '../../core/zone/hash-table.js';
import { Zone } from '../../core/zone/zone.js';
import { assertSound } from './sound.js';

function tableIn(zone: Zone): HashTable {
  const table = HashTable.open(zone, 'keys', { entries: 16 });
  if (!table) throw new Error('no room');
  return table;
}

const key = fc.oneof(fc.constantFrom('a', 'b', 'c', 'schlüssel', '😀', ''), fc.string({ maxLength: 40 }), fc.uint8Array({ maxLength: 20 }));
const steps = fc.array(
  fc.oneof(
    fc.record({ insert: key, length: fc.nat({ max: 600 }) }),
    fc.record({ find: key, touch: fc.boolean() }),
    fc.record({ remove: key }),
    fc.record({ evict: fc.constant(true) }),
  ),
  { maxLength: 300, size: 'max' },
);

const nameOf = (key: string | Uint8Array) => Buffer.from(key as string).toString('hex');

test('it does what a map in order of use does, in a zone that is too small for all', (t) => {
  fc.assert(
    fc.property(steps, (list) => {
      const zone = Zone.create('h', 16 * 1024);
      const empty = zone.slab.used;
      const table = tableIn(zone);
      // Insertion order of the map is the order of use, the oldest first.
      const model = new Map<string, { mark: number; length: number }>();
      let mark = 0;
      for (const step of list) {
        if ('insert' in step) {
          const name = nameOf(step.insert);
          if (model.has(name)) continue;
          const before = table.evicted;
          const value = table.insert(step.insert, step.length, true);
          for (let gone = table.evicted - before; gone > 0; gone--) model.delete(model.keys().next().value!);
          if (value === 0) throw new Error('an empty table has no room');
          mark = (mark + 1) % 256;
          zone.bytes.fill(mark, value, value + step.length);
          model.set(name, { mark, length: step.length });
        } else if ('find' in step) {
          const name = nameOf(step.find);
          const value = table.find(step.find, step.touch);
          const known = model.get(name);
          if ((value !== 0) !== (known !== undefined)) throw new Error(`find ${name}: ${value}`);
          if (!known) continue;
          if (table.valueLength(value) !== known.length || table.keyOf(value).toString('hex') !== name) throw new Error('another entry');
          if (!zone.bytes.subarray(value, value + known.length).every((byte) => byte === known.mark)) throw new Error('value overwritten');
          if (step.touch) {
            model.delete(name);
            model.set(name, known);
          }
        } else if ('remove' in step) {
          if (table.remove(step.remove) !== model.delete(nameOf(step.remove))) throw new Error('remove');
        } else if (table.evict()) model.delete(model.keys().next().value!);
        const order = Array.from(table.values(), (value) => table.keyOf(value).toString('hex'));
        if (order.toReversed().join() !== [...model.keys()].join()) throw new Error('order of use');
        const faults = [...table.faults()];
        if (faults.length > 0) throw new Error(faults.join('; '));
      }
      assertSound(zone);
      while (table.evict());
      return zone.slab.used > empty && table.count === 0;
    }),
    { numRuns: 150 },
  );
  t.pass();
});

test('without eviction a full zone says so and keeps what it has', (t) => {
  const zone = Zone.create('h', 16 * 1024);
  const table = tableIn(zone);
  let count = 0;
  while (table.insert(`key ${count}`, 100) !== 0) count++;
  t.true(count > 50);
  t.is(table.count, count);
  t.true(Array.from({ length: count }, (_, index) => table.find(`key ${index}`)).every((value) => value !== 0));
});

test('two threads that open a table by name get the same one', (t) => {
  const zone = Zone.create('h', 64 * 1024);
  const there = Zone.attach('h', zone.buffer as SharedArrayBuffer);
  tableIn(zone).insert('k', 8);
  t.not(HashTable.open(there, 'keys')?.find('k'), 0);
  t.is(HashTable.open(there, 'others')?.find('k'), 0);
});
