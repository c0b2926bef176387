import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { StoredHistory } from '../../core/changes/configuration-history.js';
import { ConfigErrors, ConfigError } from '../../core/config/errors.js';
import { exactTree } from '../../core/contract/print.js';
import { ApiError } from '../../core/contract/control.js';
import type { Block } from '../../core/contract/tree.js';
import { tempFolder } from '../harness/temp.js';
import { stateLines } from './state-lines.js';
import { fakeMaster, find, FakeWorker } from './fake-master.js';

const CONFIG = 'http { upstream demo { zone demo 64k; server 10.0.0.1:80; server 10.0.0.2:80; } }';
const members = (root: Block): [string | undefined, number | undefined][] =>
  Array.from(find(root, 'upstream').block?.named('server') ?? [], ({ args, key }) => [args.map((word) => word.text).join(' '), key]);
const add =
  (text: string, to = 'upstream') =>
  (root: Block) =>
    [{ op: 'add', parent: find(root, to), text }] as const;

test('a change is active in the master and in every worker, and has its version and directive', async (t) => {
  const { transactions, instance, workers } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const before = transactions.version;
  const applied = await transactions.apply(add('server 10.0.0.3:80 weight=2;'));
  t.is(applied.version, before + 1);
  t.is(applied.directives[0]?.key, 2);
  for (const { tree } of [instance, ...workers]) {
    t.deepEqual(members(tree.root), [
      ['10.0.0.1:80', 0],
      ['10.0.0.2:80', 1],
      ['10.0.0.3:80 weight=2', 2],
    ]);
  }
});

test('all edits apply or none does, and the caller gets every reason', async (t) => {
  const { transactions, printed, workers } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const [before, version] = [printed(), transactions.version];
  const error = await t.throwsAsync(
    transactions.apply((root) => [
      { op: 'add', parent: find(root, 'upstream'), text: 'server 10.0.0.3:80;' },
      { op: 'add', parent: find(root, 'upstream'), text: 'server 10.0.0.4:80 weight=0;' },
      { op: 'add', parent: find(root, 'upstream'), text: 'sever 10.0.0.4:80;' },
    ]),
    { instanceOf: ApiError },
  );
  t.like(error, { status: 400, code: 'ConfigError' });
  t.is(error.details.length, 2);
  t.like(error.details[1], { line: 1, column: 1 });
  t.is(printed(), before);
  t.is(transactions.version, version);
  t.deepEqual(
    workers.map((worker) => worker.committed),
    [[], []],
  );
});

test('text of the API cannot reach out of its place', async (t) => {
  const { transactions, printed } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const before = printed();
  for (const text of ['server a; server b;', 'server a; } upstream evil {', 'include /etc/passwd;', '', 'server a {', '}']) {
    t.like(await t.throwsAsync(transactions.apply(add(text)), undefined, text), { status: 400, code: 'ConfigError' }, text);
  }
  t.is(printed(), before);
});

test('a worker that cannot prepare stops the change everywhere', async (t) => {
  const { transactions, printed, workers } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const [before, version] = [printed(), transactions.version];
  const [, second] = workers;
  const refuse = new ConfigErrors([new ConfigError('cannot bind', undefined)]);
  if (second) second.prepare = () => Promise.reject(refuse);
  t.like(await t.throwsAsync(transactions.apply(add('server 10.0.0.3:80;'))), { status: 400, code: 'ConfigError', message: 'cannot bind' });
  t.is(printed(), before);
  t.is(transactions.version, version);
  for (const worker of workers) t.deepEqual([worker.committed, worker.aborted.length], [[], 1]);
});

test('a worker that never responds to prepare is a 503 in time, and nothing changed', async (t) => {
  const { transactions, printed, workers, log } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t), limits: { api: 50 } });
  const before = printed();
  const [first] = workers;
  const prepare = first?.prepare.bind(first);
  if (first) first.prepare = () => new Promise(() => {});
  t.like(await t.throwsAsync(transactions.apply(add('server 10.0.0.3:80;'))), { status: 503, code: 'DataPlaneUnavailable' });
  t.is(printed(), before);
  t.true(log.lines.some((line) => line.includes('worker 0')));
  // The next one is not held up.
  if (first && prepare) first.prepare = prepare;
  await transactions.apply(add('server 10.0.0.3:80;'));
  t.is(members(first?.tree.root ?? ([] as never)).length, 3);
});

test('a change that the first worker dies of reaches one worker more at most, and is rejected', async (t) => {
  const { transactions, printed, workers } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t), workers: 4 });
  const before = printed();
  let asked = 0;
  for (const worker of workers) {
    worker.prepare = () => {
      asked++;
      return worker.die();
    };
  }
  t.like(await t.throwsAsync(transactions.apply(add('server 10.0.0.3:80;'))), { status: 503, code: 'DataPlaneUnavailable' });
  t.is(asked, 2);
  t.is(printed(), before);
});

test('a change that the first worker hangs in reaches no other', async (t) => {
  const { transactions, workers } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t), workers: 4, limits: { api: 50 } });
  let asked = 0;
  for (const worker of workers) {
    worker.prepare = () => {
      asked++;
      return new Promise(() => {});
    };
  }
  await t.throwsAsync(transactions.apply(add('server 10.0.0.3:80;')));
  t.is(asked, 1);
});

test('a worker that dies while it prepares or commits does not count', async (t) => {
  const { transactions, workers, instance } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t), workers: 3 });
  const [first, second, third] = workers as [FakeWorker, FakeWorker, FakeWorker];
  first.prepare = () => first.die();
  second.commit = () => second.die();
  await transactions.apply(add('server 10.0.0.3:80;'));
  t.is(members(instance.tree.root).length, 3);
  t.is(members(third.tree.root).length, 3);
  t.deepEqual(first.committed, []);
});

test('workers that were told to end, and do so while they prepare, do not count', async (t) => {
  const { transactions, workers, instance } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t), workers: 2 });
  for (const worker of workers) {
    worker.leaving = true;
    worker.prepare = () => worker.die();
  }
  await transactions.apply(add('server 10.0.0.3:80;'));
  t.is(members(instance.tree.root).length, 3);
});

test('a worker that does not commit in time makes the response a 503 that says so; the change stays, and state files have it', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\n' });
  const config = 'http { upstream demo { zone demo 64k; state demo.state; } }';
  const { transactions, workers, instance } = await fakeMaster(t, { config, folder, limits: { api: 50 } });
  const [first] = workers as [FakeWorker];
  first.commit = () => new Promise(() => {});
  const error = await t.throwsAsync(transactions.apply(add('server 10.0.0.3:80;')));
  t.like(error, { status: 503, code: 'DataPlaneUnavailable' });
  t.regex(error.message, /has made the change, but a worker is busy/);
  t.true(first.suspected);
  t.is(members(instance.tree.root).length, 2);
  await transactions.close();
  t.regex(readFileSync(join(folder, 'demo.state'), 'utf8'), /10\.0\.0\.3/);
});

test('a caller that does not wait any more gets nothing changed', async (t) => {
  const { transactions, printed, workers } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const before = printed();
  const late = transactions.apply(add('server 10.0.0.3:80;'), { deadline: Date.now() - 1 });
  t.like(await t.throwsAsync(late), { status: 503, code: 'DataPlaneUnavailable' });
  // Time runs out while the workers prepare: before the journal there is still a way back.
  for (const worker of workers) {
    const prepare = worker.prepare.bind(worker);
    worker.prepare = async (tx, operations) => {
      await prepare(tx, operations);
      const until = Date.now() + 40;
      while (Date.now() < until);
    };
  }
  const tooSlow = transactions.apply(add('server 10.0.0.3:80;'), { deadline: Date.now() + 30 });
  t.like(await t.throwsAsync(tooSlow), { status: 503 });
  t.is(printed(), before);
});

test('a dry run returns what would change and uses up no key', async (t) => {
  const { transactions, printed } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const [before, version] = [printed(), transactions.version];
  const dry = await transactions.apply(add('server 10.0.0.3:80;'), { dryRun: true });
  t.deepEqual(dry.diff, ['http / upstream demo', '+ server 10.0.0.3:80;']);
  t.is(transactions.version, version);
  t.is(printed(), before);
  const real = await transactions.apply(add('server 10.0.0.3:80;'));
  t.is(real.directives[0]?.key, 2);
});

test('transactions run one after another and each sees what the one before did', async (t) => {
  const { transactions, instance } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const counts: number[] = [];
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      transactions.apply((root) => {
        counts.push(members(root).length);
        return add(`server 10.0.1.${n}:80;`)(root);
      }),
    ),
  );
  t.deepEqual(
    counts,
    Array.from({ length: 20 }, (_, n) => n + 2),
  );
  t.is(new Set(members(instance.tree.root).map(([, key]) => key)).size, 22);
});

function refuse(): never {
  throw new ApiError(404, 'UpstreamNotFound', 'no');
}

test('what `build` throws reaches the caller and holds nothing up', async (t) => {
  const { transactions } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  t.like(await t.throwsAsync(transactions.apply(refuse)), { status: 404 });
  await t.notThrowsAsync(transactions.apply(add('server 10.0.0.3:80;')));
});

test('a worker that joins between two transactions misses none', async (t) => {
  const { transactions, workers, instance } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const changes = Array.from({ length: 5 }, (_, n) => transactions.apply(add(`server 10.0.1.${n}:80;`)));
  const joined = transactions.between(() => Promise.resolve(workers.push(new FakeWorker('worker 9', instance.tree))));
  const more = Array.from({ length: 5 }, (_, n) => transactions.apply(add(`server 10.0.2.${n}:80;`)));
  await Promise.all([...changes, joined, ...more]);
  for (const worker of workers) t.is(exactTree(worker.tree.root), exactTree(instance.tree.root));
});

test('the version of a directive changes with it and what is in it, and with nothing else', async (t) => {
  const config = 'http { upstream a { zone a 64k; server 10.0.0.1:80; } upstream b { zone b 64k; server 10.0.0.2:80; } }';
  const { transactions } = await fakeMaster(t, { config, folder: tempFolder(t) });
  const versions = () => ['a', 'b'].map((name) => transactions.versionOf(find(transactions.tree, 'upstream', name)));
  const [a, b] = versions();
  await transactions.apply((root) => [{ op: 'add', parent: find(root, 'upstream', 'a'), text: 'server 10.0.0.3:80;' }]);
  const [changed, same] = versions();
  t.not(changed, a);
  t.is(same, b);
});

test('state files are written back soon, whole, and closing waits for them', async (t) => {
  const folder = tempFolder(t, { 'demo.state': 'server 10.0.0.1:80;\n' });
  const { transactions } = await fakeMaster(t, { config: 'http { upstream demo { zone demo 64k; state demo.state; } }', folder });
  await transactions.apply(add('server 10.0.0.2:80 weight=3;'));
  await transactions.close();
  t.deepEqual(stateLines(readFileSync(join(folder, 'demo.state'), 'utf8')), ['server 10.0.0.1:80;', 'server 10.0.0.2:80 weight=3;']);
  t.false(existsSync(join(folder, 'demo.state.new')));
});

/** A call of a transaction. */
const call = (work: () => Promise<unknown>) => () =>
  work().then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error as ApiError }),
  );

test('a rollback in a transaction is the first call that changes something', async (t) => {
  const { transactions, store, printed, restarted } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
  const history = new StoredHistory(store, transactions);
  const { version } = transactions;
  await transactions.apply(add('server 10.0.0.3:80;'));
  const back = call(() => history.rollback(version, {}));
  const before = printed();
  const { outcomes } = await transactions.together([back, back], { dryRun: false, requestId: 'twice' });
  t.like(outcomes[1], { error: { status: 400, code: 'NotTransactional' } });
  t.is(printed(), before);
  await transactions.together([back, call(() => transactions.apply(add('server 10.0.0.4:80;')))], { dryRun: false, requestId: 'first' });
  t.regex(printed(), /10\.0\.0\.2:80;\s+server 10\.0\.0\.4:80;/);
  t.is(restarted(), printed());
});
