import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { KeyValueCopy } from '../../core/changes/key-value-copy.js';
import { MasterKeyValue } from '../../core/changes/key-value.js';
import { ParticipantGone } from '../../core/changes/participant.js';
import { Staging } from '../../core/changes/staging.js';
import { Store } from '../../core/changes/store.js';
import { StoreLog } from '../../core/changes/store-log.js';
import { ConfigTree } from '../../core/config/tree.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { FakeWorker } from './fake-master.js';
import { MemoryLog } from './memory-log.js';

const LIMITS = { folder: undefined, maxSize: 10_000, maxKey: 1024, maxValue: 5000 };

/** A worker with a copy of its own. */
class CopyingWorker extends FakeWorker {
  readonly copy = new KeyValueCopy();

  override publish(_: string, data: unknown): Promise<void> {
    this.copy.take(structuredClone(data));
    return Promise.resolve();
  }
}

const ALONE = { heapSize: () => 4 * 1024 ** 3, staging: new Staging(), commitLog: new StoreLog(), nodeName: () => 'node' };

function pairs(t: ExecutionContext, folder = tempFolder(t)) {
  const store = Store.open(folder);
  const worker = new CopyingWorker('worker 0', ConfigTree.empty);
  const log = new MemoryLog();
  const master = new MasterKeyValue({ store, participants: () => [worker], log, ...ALONE });
  worker.copy.load(structuredClone(master.snapshot()));
  let open = true;
  const close = (): void => {
    if (!open) return;
    open = false;
    master.close();
    store.close();
  };
  t.teardown(close);
  return { folder, worker, master, log, close };
}

test('a pair is in every worker and on disk when the API responds', async (t) => {
  const { master, worker, folder, close } = pairs(t);
  await master.set('color', 'red');
  await master.set('empty', '');
  t.is(worker.copy.get('color'), 'red');
  t.is(worker.copy.get('empty'), '');
  t.is(worker.copy.get('none'), undefined);
  close();
  const again = pairs(t, folder);
  t.is(again.master.get('color'), 'red');
  t.is(again.worker.copy.get('color'), 'red');
  t.true(await again.master.delete('color'));
  t.false(await again.master.delete('color'));
  t.is(again.worker.copy.get('color'), undefined);
});

test('compare and set: a version names one value forever', async (t) => {
  const { master } = pairs(t);
  await master.set('a', '1');
  const version = master.version('a');
  await master.set('a', '2', { ifMatch: version });
  t.like(await t.throwsAsync(master.set('a', '3', { ifMatch: version })), { status: 412, code: 'VersionMismatch' });
  t.like(await t.throwsAsync(master.delete('a', { ifMatch: version })), { status: 412 });
  t.like(await t.throwsAsync(master.set('new', '1', { ifMatch: '*' })), { status: 412 });
  const second = master.version('a');
  await master.delete('a');
  await master.set('a', '2');
  t.not(master.version('a'), second);
});

test('limits count bytes, and what is replaced or deleted makes room', async (t) => {
  const { master } = pairs(t);
  master.configure(LIMITS);
  t.like(await t.throwsAsync(master.set('ä'.repeat(513), 'x')), { status: 413, code: 'KeyTooLong' });
  t.like(await t.throwsAsync(master.set('k', 'x'.repeat(5001))), { status: 413, code: 'ValueTooLarge' });
  await master.set('a', 'x'.repeat(5000));
  await master.set('b', 'x'.repeat(4900));
  t.like(await t.throwsAsync(master.set('c', 'x'.repeat(200))), { status: 507, code: 'StoreFull' });
  await master.set('b', 'y'.repeat(4900));
  await master.delete('a');
  await master.set('c', 'x'.repeat(200));
  t.is(master.get('c')?.length, 200);
});

test('keys are listed in order, by prefix, page by page', async (t) => {
  const { master } = pairs(t);
  for (const key of ['b', 'a:2', 'a:10', 'a:1', 'a', 'ä', '🙂', 'a:\uffff']) await master.set(key, key);
  const keys = (options: Parameters<typeof master.list>[0]) => master.list(options).pairs.map(({ key }) => key);
  t.deepEqual(keys({ limit: 100 }), ['a', 'a:1', 'a:10', 'a:2', 'a:\uffff', 'b', 'ä', '🙂']);
  t.deepEqual(keys({ prefix: 'a:', limit: 2 }), ['a:1', 'a:10']);
  t.deepEqual(keys({ prefix: 'a:', after: 'a:10', limit: 2 }), ['a:2', 'a:\uffff']);
  t.deepEqual(keys({ prefix: 'zz', limit: 2 }), []);
});

test('a pair with a ttl is gone for everybody when its time is over, and is forgotten', async (t) => {
  const { master, worker } = pairs(t);
  await master.set('long', 'x', { ttl: 3_600_000 });
  await master.set('short', 'x', { ttl: 20 });
  await master.set('kept', 'x', { ttl: 20 });
  await master.set('kept', 'y');
  t.is(worker.copy.get('long'), 'x');
  await waitFor('the end of its time', () => worker.copy.get('short') === undefined);
  t.is(master.get('short'), undefined);
  t.is(master.version('short'), undefined);
  t.false(master.list({ limit: 9 }).pairs.some(({ key }) => key === 'short'));
  await waitFor('the pair to be forgotten', () => !(master.snapshot() as { key: string }[]).some(({ key }) => key === 'short'));
  t.is(worker.copy.get('kept'), 'y');
});

test('a dry run checks and changes nothing', async (t) => {
  const { master, worker } = pairs(t);
  await master.set('a', '1');
  await master.set('a', '2', { dryRun: true });
  t.true(await master.delete('a', { dryRun: true }));
  t.is(worker.copy.get('a'), '1');
});

test('a worker that is gone does not hold a write up', async (t) => {
  const { master, worker } = pairs(t);
  worker.publish = () => Promise.reject(new ParticipantGone('worker 0'));
  await t.notThrowsAsync(master.set('a', '1'));
  t.false(worker.suspected);
  t.is(master.get('a'), '1');
});

test('a folder of its own', async (t) => {
  const { master, folder, close } = pairs(t);
  close();
  t.is(master.get('x'), undefined);
  const other = join(folder, 'elsewhere');
  const store = Store.open(folder);
  const apart = new MasterKeyValue({ store, participants: () => [], log: new MemoryLog(), ...ALONE });
  apart.configure({ ...LIMITS, folder: other });
  await apart.set('a', '1');
  t.deepEqual([...store.pairs.all()], []);
  apart.close();
  store.close();
  const moved = Store.open(other);
  t.is([...moved.pairs.all()].length, 1);
  moved.close();
});
