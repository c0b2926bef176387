/** Memory of modules in threads that end their use of it at different times. */
import test from 'ava';
import { ModuleZones } from '../../core/kernel/module-zones.js';
import { ZoneSet } from '../../core/zone/zone-set.js';

const TEXTS = { name: 'once\0texts', size: 65_536 };

function threads(): { readonly main: ModuleZones; readonly worker: ModuleZones; readonly zones: () => number; readonly share: () => void } {
  const [mains, workers] = [new ZoneSet('create'), new ZoneSet('adopt')];
  const [main, worker] = [
    new ModuleZones({ zones: mains, clock: { now: 0 }, worker: -1, workers: 1 }),
    new ModuleZones({ zones: workers, clock: { now: 0 }, worker: 0, workers: 1 }),
  ];
  let shared = 0;
  const share = (): void => {
    workers.adopt(mains.shares(shared));
    shared = mains.last;
  };
  return { main, worker, share, zones: () => [...workers.zones()].length };
}

for (const late of ['before it is shared', 'between sharing and loading']) {
  test(`a module that is loaded again while the main thread still has its memory finds it in workers that had closed it ${late}`, (t) => {
    const { main, worker, share, zones } = threads();
    main.openOwn(TEXTS);
    share();
    worker.openOwn(TEXTS);
    t.is(worker.holds(TEXTS).acquire('a', 1), 'held');
    if (late === 'before it is shared') worker.closeOwn(TEXTS);
    main.openOwn(TEXTS);
    share();
    if (late !== 'before it is shared') worker.closeOwn(TEXTS);
    worker.openOwn(TEXTS);
    main.closeOwn(TEXTS);
    t.is(worker.holds(TEXTS).acquire('a', 1), 'rejected', 'it is the same memory');
    worker.closeOwn(TEXTS);
    t.is(zones(), 0);
  });
}

test('a new version of a module uses the memory of the one before it, and the last one releases it', (t) => {
  const { main, worker, share, zones } = threads();
  for (let version = 1; version <= 3; version++) {
    main.openOwn(TEXTS);
    share();
    worker.openOwn(TEXTS);
    t.is(worker.holds(TEXTS).acquire('a', 1), version === 1 ? 'held' : 'rejected');
    if (version === 1) continue;
    worker.closeOwn(TEXTS);
    main.closeOwn(TEXTS);
  }
  t.is(zones(), 1);
  worker.closeOwn(TEXTS);
  t.is(zones(), 0);
});
