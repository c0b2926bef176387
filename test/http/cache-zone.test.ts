/** One cache: its index, its files, purges, and what is kept in memory. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { FakeChannels } from '../../testing/channels.js';
import { FakeStorage } from '../../testing/storage.js';
import { FakeLog } from '../../testing/log.js';
import { fakeMetrics } from '../../testing/metrics.js';
import { FakeSystemFiles } from '../../testing/system-files.js';
import { FakeZones } from '../../testing/zones.js';
import { CacheFigures } from '../../modules/cache/cache-figures.js';
import { CacheManager } from '../../modules/cache/cache-manager.js';
import { CacheZone, type Moment } from '../../modules/cache/cache-zone.js';
import type { StoredHead } from '../../modules/cache/entry-file.js';
import { filePath, type CachePath } from '../../modules/cache/directives.js';
import { addPurge, emptyList, forgetPurges, lastPurgeOf, verdictOn, type Purge, type PurgeKind } from '../../modules/cache/purge-list.js';
import { Purges, type ZonePurges } from '../../modules/cache/purges.js';
import { WaitBudget } from '../../modules/cache/wait-budget.js';
import { waitFor } from '../harness/wait.js';

const NO_PURGES: ZonePurges = {
  last: 0,
  first: 0,
  done: 0,
  ready: () => undefined,
  verdictOn: () => 'valid',
  lastOf: () => 0,
  finish: () => Promise.resolve(),
};

function createZone(path: CachePath, zones: FakeZones, log: FakeLog, purges = NO_PURGES, files = new FakeSystemFiles()): CacheZone {
  return new CacheZone(path, zones, path.path, log, purges, new CacheFigures(fakeMetrics(), 'one'), files);
}

interface Unit {
  readonly zone: CacheZone;
  readonly manager: CacheManager;
  readonly folder: string;
}

function unit(
  t: ExecutionContext,
  more: Partial<CachePath> = {},
  purges = NO_PURGES,
  zones = new FakeZones(),
  files = new FakeSystemFiles(true),
): Unit {
  const folder = mkdtempSync(join(tmpdir(), 'cache-'));
  const path: CachePath = {
    path: folder,
    levels: [1],
    use_temp_path: false,
    keys_zone: { name: 'one', size: 1_048_576 },
    inactive: 600_000,
    max_size: undefined,
    memory: undefined,
    min_free: undefined,
    manager_files: 100,
    manager_sleep: 1,
    manager_threshold: 200,
    loader_files: 100,
    loader_sleep: 1,
    loader_threshold: 200,
    ...more,
  };
  const log = new FakeLog();
  const zone = createZone(path, zones, log, purges, files);
  t.teardown(() => rmSync(folder, { recursive: true }));
  return { zone, manager: new CacheManager(zone, log), folder };
}

const HEAD = {
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
};
const nameOf = (at: number): string => at.toString(16).padStart(32, '0');

/** Times in milliseconds. */
interface Filling {
  /** Bytes of a body. */
  readonly length: number;
  /** Date of the first one, and the time between two. */
  readonly first: number;
  readonly step: number;
  /** Without those before it. */
  readonly from: number;
}

/** Stores so many responses, one second apart. */
async function fill({ zone }: Unit, count: number, more: Partial<Filling> = {}): Promise<void> {
  const { length = 1000, step = 1000, from = 0 } = more;
  const { first = Date.now() - count * step } = more;
  for (let at = from; at < count; at++) {
    const head = { ...HEAD, key: `k${at}`, date: first + at * step, head: 'HTTP/1.1 200 \r\n\r\n' };
    await zone.write(
      nameOf(at),
      zone.beginFetch(),
      head,
      (async function* () {
        yield Buffer.alloc(length, 'x');
      })(),
    );
  }
}

async function has(zone: CacheZone, at: number): Promise<boolean> {
  const file = await zone.open(nameOf(at), `k${at}`);
  file?.close();
  return file !== undefined;
}

const SIGNAL = new AbortController().signal;

test('fetches that have begun before a purge store nothing, however many they are', async (t) => {
  const { zone } = unit(t);
  zone.index.loaded();
  const NAME = nameOf(0);
  const moment = zone.beginFetch();
  const write = (since = zone.beginFetch()): Promise<number> =>
    zone.write(NAME, since, { ...HEAD, key: 'k0', date: Date.now(), head: 'h' }, Readable.from([Buffer.from('x')]));
  await zone.purge(NAME);
  for (let fetch = 0; fetch < 3; fetch++) {
    await write(moment);
    t.is(await zone.open(NAME, 'k0'), undefined, String(fetch));
  }
  t.is(zone.index.size, 0);
  await write();
  (await zone.open(NAME, 'k0'))?.close();
  t.true(zone.index.size > 0);
});

test('of two fetches the later one is stored, whichever response is whole first, over all workers', async (t) => {
  const zones = new FakeZones();
  const { zone } = unit(t, {}, NO_PURGES, zones);
  zone.index.loaded();
  const other = createZone(zone.path, zones, new FakeLog());
  const [NAME, length] = [nameOf(0), 'HTTP/1.1 200 \r\n\r\n'.length];
  const write = (one: CacheZone, since: Moment, body: AsyncIterable<Buffer>): Promise<number> =>
    one.write(NAME, since, { ...HEAD, key: 'k0', date: Date.now(), head: 'h'.repeat(length) }, body);
  const now = async (): Promise<number | undefined> => {
    const file = await zone.open(NAME, 'k0');
    file?.close();
    return file?.length;
  };
  for (const size of [1, 30_000]) {
    const of = (bytes: number): Readable => Readable.from([Buffer.alloc(size + bytes)]);
    const [first, second, third] = [zone.beginFetch(), other.beginFetch(), zone.beginFetch()];
    await write(other, second, of(2));
    await write(zone, first, of(1));
    t.is(await now(), size + 2);
    await write(zone, third, of(3));
    t.is(await now(), size + 3);
    // All at once: if none is left it is asked for again.
    const fetches = Array.from({ length: 10 }, () => zone.beginFetch());
    const last = fetches.at(-1);
    await Promise.all(fetches.map((fetch, at) => write(at % 2 === 0 ? zone : other, fetch, of(fetch === last ? 5 : 4))));
    t.true([undefined, size + 5].includes(await now()));
  }
});

test('what is above max_size is removed, the response used longest ago first', async (t) => {
  const at = unit(t, { max_size: 5500 });
  await fill(at, 10);
  at.zone.index.use(nameOf(0), Date.now());
  await at.manager.tidy(SIGNAL);
  t.true(at.zone.index.size <= 5500 && at.zone.index.size > 3000);
  t.true(await has(at.zone, 0));
  t.false(await has(at.zone, 1));
  t.is(readdirSync(at.folder, { recursive: true }).filter((name) => String(name).length > 30).length, at.zone.index.entries);
});

test('what was not used for the time of inactive is removed', async (t) => {
  const at = unit(t, { inactive: 5500 * 60 });
  await fill(at, 10, { step: 60_000 });
  await at.manager.tidy(SIGNAL);
  t.is(at.zone.index.entries, 5);
});

test('the loader finds stored responses, and leaves other files out', async (t) => {
  const at = unit(t);
  await fill(at, 10);
  writeFileSync(join(at.folder, 'other'), 'x');
  mkdirSync(join(at.folder, 'zz'));
  const zones = new FakeZones();
  const again = createZone(at.zone.path, zones, new FakeLog());
  t.is(again.index.entries, 0);
  t.true(await has(again, 3), 'one that is not in the index yet is looked for in the folder');
  await new CacheManager(again, new FakeLog()).load(SIGNAL);
  t.deepEqual([again.index.entries, again.index.size], [10, at.zone.index.size]);
});

test('a response that is stored while its file is looked for stays in the index', async (t) => {
  const at = unit(t);
  await at.manager.prepare();
  await fill(at, 1);
  const looked = at.zone.open(nameOf(16), 'k16');
  // The folder is looked at in another thread, which finds nothing.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  await fill(at, 17, { from: 16 });
  (await looked)?.close();
  at.zone.index.loaded();
  t.true(await has(at.zone, 16));
});

test('an entry of another key with the same name is none', async (t) => {
  const at = unit(t);
  await fill(at, 1);
  t.is(await at.zone.open(nameOf(0), 'other'), undefined);
});

test('where the system says what it has in memory, a response of any size is opened at once, and others in another thread', async (t) => {
  const files = new FakeSystemFiles();
  const at = unit(t, {}, NO_PURGES, new FakeZones(), files);
  await at.manager.prepare();
  await fill(at, 1);
  await fill(at, 2, { length: 20_000, from: 1 });
  const [small, large] = [at.zone.open(nameOf(0), 'k0'), at.zone.open(nameOf(1), 'k1')];
  if (small instanceof Promise || large instanceof Promise) return void t.fail('in another thread');
  t.is(small?.descriptor, -1, 'it is in the memory of the worker');
  t.deepEqual([...files.opened], [large?.descriptor]);
  const into = Buffer.alloc(10);
  const start = large?.descriptorStart ?? 0;
  t.is(files.read(large?.descriptor ?? -1, into, start + 19_995), 5, 'the body ends with the file');
  t.deepEqual([large?.read(into, 19_990), into.latin1Slice()], [10, 'x'.repeat(10)]);
  large?.close();
  t.is(files.opened.size, 0);
  for (const number of [0, 1]) {
    files.onDisk.add(filePath(at.zone.path, nameOf(number)));
    const opening = at.zone.open(nameOf(number), `k${number}`);
    t.true(opening instanceof Promise);
    const file = await opening;
    t.is(file?.descriptor, -1, 'other threads read it');
    file?.close();
  }
});

test('where nothing says what is in memory, a small response is opened at once, a large one in another thread', async (t) => {
  const at = unit(t);
  await at.manager.prepare();
  await fill(at, 1);
  const small = at.zone.open(nameOf(0), 'k0');
  t.false(small instanceof Promise);
  (await small)?.close();
  await fill(at, 2, { length: 20_000 });
  const large = at.zone.open(nameOf(1), 'k1');
  t.true(large instanceof Promise);
  const file = await large;
  t.is(file?.length, 20_000);
  file?.close();
});

test('a short response is written at once where the disk responds, a long one and the first in other threads', async (t) => {
  const at = unit(t);
  await at.manager.prepare();
  /** True if it has arrived before the worker does anything else. */
  const isAtOnce = async (number: number, length: number): Promise<boolean> => {
    const before = at.zone.index.size;
    const filled = fill(at, number, { length, from: number - 1 });
    for (let step = 0; step < 100; step++) await Promise.resolve();
    const isThere = at.zone.index.size > before;
    await filled;
    t.true(at.zone.index.size > before);
    return isThere;
  };
  t.false(await isAtOnce(1, 1000), 'it is not known whether the disk responds');
  // The last digit of a name is its folder.
  t.false(await isAtOnce(2, 1000), 'its folder is missing');
  t.true(await isAtOnce(18, 1000));
  t.true(at.zone.disk.write(() => at.zone.disk.write(() => true)) === undefined, 'one worker at a time');
  t.false(await isAtOnce(34, 20_000));
  const file = await at.zone.open(nameOf(17), 'k17');
  t.is(file?.length, 1000);
  file?.close();
  t.deepEqual(readdirSync(join(at.folder, '1')).toSorted(), [1, 17, 33].map(nameOf), 'nothing is left aside');
});

test('a head that is another one now is decoded again', async (t) => {
  const at = unit(t);
  await at.manager.prepare();
  await fill(at, 1);
  const headNow = async (): Promise<StoredHead | undefined> => {
    const file = await at.zone.open(nameOf(0), 'k0');
    file?.close();
    return file?.stored;
  };
  const first = await headNow();
  t.is(await headNow(), first, 'the same head is not decoded twice');
  assert(first !== undefined);
  await at.zone.renew(nameOf(0), first, { ...first, validUntil: 5 }, 0);
  t.is((await headNow())?.validUntil, 5);
});

test('files that are waited for too long are opened in another thread for a while', (t) => {
  let now = 1000;
  let waited = 0;
  const budget = new WaitBudget(
    () => now,
    () => waited,
  );
  const take = (ms: number): number => budget.run(() => (now += ms));
  for (let at = 0; at < 1000; at++) take(1);
  t.false(budget.isSpent, 'short calls do not count');
  for (let at = 0; at < 10; at++)
    budget.run(() => {
      waited += 29;
      now += 30;
    });
  t.false(budget.isSpent, 'a busy processor does not count');
  take(15);
  t.false(budget.isSpent);
  take(15);
  t.true(budget.isSpent);
  now += 150;
  t.false(budget.isSpent);
  t.throws(() =>
    budget.run(() => {
      now += 60_000;
      throw new Error('EIO');
    }),
  );
  t.true(budget.isSpent, 'one that fails counts too');
  now += 10_000;
  t.false(budget.isSpent);
});

test('when the index is full, the oldest go with their files', async (t) => {
  const at = unit(t, { keys_zone: { name: 'small', size: 65_536 } });
  await fill(at, 800);
  await waitFor(
    'the files',
    () => readdirSync(at.folder, { recursive: true }).filter((name) => String(name).length > 30).length === at.zone.index.entries,
  );
  t.true(at.zone.index.entries < 800);
  t.false(await has(at.zone, 0));
});

const purge = (number: number, kind: PurgeKind, text: string, isSoft = false): Purge => ({ number, kind, text, isSoft });

test('files of what was purged are removed in the background, and then the purges are forgotten', async (t) => {
  const list = emptyList();
  const finished: number[] = [];
  const purges: ZonePurges = {
    get last() {
      return list.last;
    },
    get first() {
      return list.first;
    },
    get done() {
      return list.done;
    },
    ready: () => undefined,
    verdictOn: (entry) => verdictOn(list, entry),
    lastOf: (key) => lastPurgeOf(list, key),
    finish: (number) => {
      finished.push(number);
      forgetPurges(list, number);
      return Promise.resolve();
    },
  };
  const at = unit(t, {}, purges);
  await fill(at, 10);
  const now = Date.now();
  for (const one of [purge(now - 100_002, 'key', 'k1'), purge(now - 100_001, 'tag', 'other'), purge(now - 100_000, 'key', 'k2', true)])
    addPurge(list, one);
  await at.manager.sweep(SIGNAL, now - 90_000);
  t.deepEqual(finished, [], 'not before every worker knows them');
  await at.manager.sweep(SIGNAL, now);
  t.deepEqual(finished, [now - 100_000]);
  t.deepEqual([list.size, at.zone.index.entries], [0, 9]);
  const [soft, fresh] = await Promise.all([2, 3].map(async (number) => at.zone.open(nameOf(number), `k${number}`)));
  t.is(soft?.stored.validUntil, now - 100_000);
  t.is(fresh?.stored.validUntil, Infinity);
  for (const file of [soft, fresh]) file?.close();
  await at.zone.write(nameOf(1), { generation: 1, turn: 0 }, { ...HEAD, key: 'k1', date: now, head: '' }, none());
  t.false(await has(at.zone, 1), 'what was asked for before is not stored after it either');
});

async function* none(): AsyncGenerator<Buffer> {}

test('a purge costs the same, however many there are; more than there is room for purge everything', async (t) => {
  const list = emptyList();
  for (let number = 1; number <= 20_000; number++) addPurge(list, purge(number, 'prefix', `/${number}`));
  const entry = { key: '/7/a', tags: '', generation: 6 };
  t.deepEqual([verdictOn(list, entry), verdictOn(list, { ...entry, generation: 7 })], ['gone', 'valid']);
  t.is(list.prefixes.size, 5);
  const channels = new FakeChannels();
  const storage = new FakeStorage();
  const purges = new Purges(channels.master, storage, { worker: -1 }, new FakeLog());
  await purges.start('master');
  for (let number = 0; number <= 20_000; number++) await purges.purge('one', 'tag', `t${number}`, false);
  t.is(purges.of('one').verdictOn({ key: 'any', tags: '', generation: 1 }), 'gone');
  t.true(storage.entries().length < 3);
  const again = new Purges(new FakeChannels().master, storage, { worker: -1 }, new FakeLog());
  await again.start('master');
  t.is(again.of('one').last, purges.of('one').last);
  t.is(again.of('one').verdictOn({ key: 'any', tags: '', generation: 1 }), 'gone');
});

test('small responses are kept in memory of all workers, and never longer than in the file', async (t) => {
  const zones = new FakeZones();
  const [first, second] = [unit(t, { memory: 1_048_576 }, NO_PURGES, zones), unit(t, { memory: 1_048_576 }, NO_PURGES, zones)];
  const NAME = nameOf(1);
  first.zone.index.loaded();
  const write = (body: string): Promise<number> =>
    first.zone.write(NAME, first.zone.beginFetch(), { ...HEAD, key: 'k', date: 1, head: 'h' }, Readable.from([Buffer.from(body)]));
  const kept = (zone: CacheZone): string | undefined => {
    const file = zone.openKept(NAME, 'k', 1);
    const bytes = Buffer.alloc(file?.length ?? 0);
    return file && bytes.toString('latin1', 0, Number(file.read(bytes, 0)));
  };
  const use = async (): Promise<void> => (await first.zone.open(NAME, 'k', first.zone.index.use(NAME, 1)))?.close();
  await write('one');
  t.is(kept(first.zone), undefined, 'not used yet');
  await use();
  t.is(kept(first.zone), 'one');
  t.is(kept(second.zone), 'one', 'another worker');
  t.is(second.zone.openKept(NAME, 'other', 1), undefined, 'two keys of one digest');
  await write('two');
  t.is(kept(second.zone), undefined, 'renewed');
  await use();
  t.is(kept(second.zone), 'two');
  await first.zone.renew(
    NAME,
    { ...HEAD, key: 'k', date: 1, head: 'h', generation: 0, bodyLength: 3 },
    { ...HEAD, key: 'k', date: 2, head: 'i', generation: 0, bodyLength: 3 },
    0,
  );
  t.is(kept(second.zone), undefined, 'validated');
  await use();
  t.is(second.zone.openKept(NAME, 'k', 1)?.stored.head, 'i');
  await second.zone.purge(NAME);
  t.is(kept(first.zone), undefined, 'purged');
  await write('four');
  // The file was read before another one takes its place.
  const before = { ...first.zone.index.use(NAME, 1) };
  await write('five');
  (await first.zone.open(NAME, 'k', before))?.close();
  t.is(kept(first.zone), undefined, 'changed since');
  await use();
  t.is(kept(first.zone), 'five');
  await write('x'.repeat(20_000));
  await use();
  t.is(kept(first.zone), undefined, 'large');
  const uses = first.zone.index.use(NAME, 1).uses;
  await write('six');
  await use();
  for (let now = 10_000; now < 13_000; now += 100) first.zone.openKept(NAME, 'k', now);
  t.true(first.zone.index.use(NAME, 1).uses >= uses + 20, 'the index knows of the uses');
});

test('a clock that is set back: responses of the future are stale, and purges stay in order', async (t) => {
  const at = unit(t);
  const hour = 3_600_000;
  await fill(at, 2, { first: Date.now() + hour });
  const file = await at.zone.open(nameOf(0), 'k0');
  t.is(file?.stored.validUntil, 0);
  file?.close();
  const before = Date.now() + hour;
  const storage = new FakeStorage({ 'one prefix hard x': JSON.stringify(purge(before, 'prefix', 'a')) });
  const purges = new Purges(new FakeChannels().master, storage, { worker: -1 }, new FakeLog());
  await purges.start('master');
  await purges.purge('one', 'prefix', 'b', false);
  const one = purges.of('one');
  t.is(one.last, before + 1);
  t.deepEqual(
    [before, one.last].map((generation) => one.verdictOn({ key: 'b', tags: '', generation })),
    ['gone', 'valid'],
  );
});
