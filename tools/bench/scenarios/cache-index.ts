import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ZoneCopies } from '../../../core/zone/copies.js';
import { Zone } from '../../../core/zone/zone.js';
import { CacheFigures } from '../../../modules/cache/cache-figures.js';
import { CacheZone } from '../../../modules/cache/cache-zone.js';
import type { ZonePurges } from '../../../modules/cache/purges.js';
import { FakeLog } from '../../../testing/log.js';
import { fakeMetrics } from '../../../testing/metrics.js';
import { FakeSystemFiles } from '../../../testing/system-files.js';
import { FakeZones } from '../../../testing/zones.js';
import type { Figures, Scenario } from '../scenario.js';

const MILLION = 1_000_000;
/** 150 bytes for each of a million. */
const INDEX = 150 * MILLION;
const MEMORY = 256 * 1024 * 1024;
/** Responses for which others have to go, and removals. */
const CHANGES = 1000;
/** Of all calls the longest counts, and of the runs the one where it is least: what else the machine does only adds. */
const RUNS = 3;
/** Of what was used longest ago is looked at so many at a time. */
const LOOK = 100;

export const cacheIndexScenario: Scenario = {
  name: 'cache-index',
  title: 'A cache with a million responses',
  how:
    'The index of a cache in a zone of 150 MB, filled until one has to go, and the longest call of each kind then, in which a worker does nothing else: ' +
    `${CHANGES} further responses, ${CHANGES} purges, a look at the ${LOOK} used longest ago. And 300,000 responses of 1 KB for 256 MB of memory.`,
  columns: [
    { key: 'each', title: 'bytes per response', unit: '', digits: 0 },
    { key: 'evict', title: 'a response that another one goes for', unit: 'ms', digits: 2 },
    { key: 'purge', title: 'a purge', unit: 'ms', digits: 2 },
    { key: 'oldest', title: 'a look for the oldest', unit: 'ms', digits: 2 },
    { key: 'memory', title: 'a response into full memory', unit: 'ms', digits: 2 },
  ],
  oursOnly: true,
  obstacle: () => undefined,
  measure: () => Promise.resolve(measureAll()),
};

export function measureAll(): Figures {
  const folder = mkdtempSync(join(tmpdir(), 'cache-index-'));
  try {
    const runs = Array.from({ length: RUNS }, () => ({ ...measureIndex(folder), memory: measureMemory() }));
    return Object.fromEntries(Object.keys(runs[0]!).map((key) => [key, Math.min(...runs.map((run: Figures) => run[key]!))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function measureIndex(folder: string): Figures {
  const zone = emptyZone(folder);
  let count = 0;
  // Every name is a new one: there are fewer than that if some had to go.
  while (zone.index.entries === count && count < 2 * MILLION) zone.index.add(nameOf(count++), 0, count);
  const evict = longest(CHANGES, () => zone.index.add(nameOf(count++), 0, count));
  const purge = longest(CHANGES, () => void zone.purge(nameOf(--count)));
  return { each: INDEX / zone.index.entries, evict, purge, oldest: longest(LOOK, () => zone.index.oldest(LOOK)) };
}

/** Without files. */
function emptyZone(folder: string): CacheZone {
  const path = {
    path: folder,
    levels: [],
    use_temp_path: false,
    keys_zone: { name: 'one', size: INDEX },
    inactive: Infinity,
    max_size: undefined,
    memory: undefined,
    min_free: undefined,
    manager_files: 100,
    manager_sleep: 50,
    manager_threshold: 200,
    loader_files: 100,
    loader_sleep: 50,
    loader_threshold: 200,
  };
  return new CacheZone(
    path,
    new FakeZones(),
    folder,
    new FakeLog(),
    NO_PURGES,
    new CacheFigures(fakeMetrics(), 'one'),
    new FakeSystemFiles(),
  );
}

const NO_PURGES: ZonePurges = {
  last: 0,
  first: 0,
  done: 0,
  ready: () => undefined,
  verdictOn: () => 'valid',
  lastOf: () => 0,
  finish: () => Promise.resolve(),
};

function measureMemory(): number {
  const copies = ZoneCopies.open(Zone.create('copies', ZoneCopies.zoneSize(MEMORY)), MEMORY);
  if (copies === undefined) throw new Error('the memory is too small');
  const response = Buffer.alloc(1500);
  const into = Buffer.alloc(1500);
  let number = 0;
  const offer = (): void => {
    const name = nameOf(number++);
    copies.offer(name, response, () => true);
    const found = copies.find(name);
    // Used often enough to stay: the next ones have to look for one that was not.
    if (found === undefined) return;
    for (let use = 0; use < 3; use++) copies.read(found, 0, into);
  };
  for (let filled = 0; filled < 300_000; filled++) offer();
  return longest(CHANGES, offer);
}

/** The longest of them, in milliseconds. */
function longest(calls: number, call: () => unknown): number {
  let most = 0;
  for (let done = 0; done < calls; done++) {
    const start = performance.now();
    call();
    most = Math.max(most, performance.now() - start);
  }
  return most;
}

const nameOf = (number: number): string => (number * 2_654_435_761).toString(16).padStart(32, '0');
