/** Files of a cache: what becomes of one that must not have its name. */
import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test from 'ava';
import { CacheDisk } from '../../modules/cache/cache-disk.js';
import { EntryWriter } from '../../modules/cache/entry-writing.js';
import { FakeZones } from '../../testing/zones.js';

const HEAD = {
  key: 'k',
  vary: '',
  variant: '',
  seed: '',
  etag: '',
  tags: '',
  modified: NaN,
  born: 0,
  flags: 0,
  validUntil: Infinity,
  staleWhileRevalidate: 0,
  staleIfError: 0,
  date: 0,
  generation: 0,
  head: 'h',
};

for (const length of [10, 100_000])
  test(`a response of ${length} bytes that came too late is removed, and never the one that took its name`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cache-'));
    t.teardown(() => rmSync(folder, { recursive: true }));
    const [zones, zone] = [new FakeZones(), { name: 'one', size: 65_536 }];
    const disk = new CacheDisk(zones.records(zone, { fields: ['local'] }), 'all', zones.holds(zone));
    await disk.look(folder);
    const writer = new EntryWriter(disk, t.fail);
    const place = { path: join(folder, 'stored'), aside: join(folder, '.aside'), file: 'aside' };
    const store = (add: () => boolean): Promise<boolean> =>
      writer.store(place, HEAD, Readable.from([Buffer.alloc(length)]), undefined, { isWanted: () => true, add });
    for (let round = 0; round < 2; round++) {
      t.true(await store(() => true));
      t.false(await store(() => false));
      t.deepEqual(readdirSync(folder), []);
      const later = (): boolean => {
        writeFileSync(join(folder, 'other'), 'later');
        renameSync(join(folder, 'other'), place.path);
        return false;
      };
      t.false(await store(later));
      t.is(readFileSync(place.path, 'utf8'), 'later');
    }
  });
