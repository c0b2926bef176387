import test, { type ExecutionContext } from 'ava';
import { StoredHistory } from '../../core/changes/configuration-history.js';
import { ConfigError, ConfigErrors } from '../../core/config/errors.js';
import { ApiError, type AppliedChange } from '../../core/contract/control.js';
import type { Applied, Edit } from '../../core/contract/transactions.js';
import type { Block } from '../../core/contract/tree.js';
import { tempFolder } from '../harness/temp.js';
import { add, fakeMaster, find, members, remove, replace, restart, type FakeMaster, type FakeWorker } from './fake-master.js';

const CONFIG = 'http { upstream demo { zone demo 64k; server 10.0.0.1:80; } vhost { server_name a; location /x { status 200; } } }';
const inLocation =
  (text: string) =>
  (root: Block): Edit[] => [{ op: 'add', parent: find(root, 'location'), text }];

/** A master whose first worker has a change in hand, so that those that come now have to wait. */
async function busyMaster(t: ExecutionContext) {
  const folder = tempFolder(t);
  const master = await fakeMaster(t, { config: CONFIG, folder });
  const { transactions, workers } = master;
  const [worker] = workers as [FakeWorker];
  const prepare = worker.prepare.bind(worker);
  const held = Promise.withResolvers<void>();
  worker.prepare = async (...call) => {
    worker.prepare = prepare;
    await held.promise;
    return prepare(...call);
  };
  const first = transactions.apply(add('server 10.0.0.2:80;'));
  /** Lets the first one end, and gives back what became of the others. */
  const outcomes = async (waiting: readonly Promise<Applied>[]): Promise<(number | string)[]> => {
    held.resolve();
    const { version } = await first;
    const settled = await Promise.allSettled(waiting);
    return settled.map((one) => (one.status === 'fulfilled' ? one.value.version - version : codeOf(one.reason)));
  };
  return { ...master, worker, folder, outcomes };
}

const codeOf = (error: unknown): string => (error instanceof ApiError ? `${error.status} ${error.code}` : String(error));

const prepares = ({ instance }: FakeMaster): number => instance.prepares;

test('changes that wait take effect together, each with its version, its key and its place in the history', async (t) => {
  const master = await busyMaster(t);
  const { transactions, workers, store } = master;
  const before = prepares(master);
  const seen: number[] = [];
  const told: (AppliedChange | undefined)[] = [];
  const waiting = Array.from({ length: 10 }, (_, n) =>
    transactions.apply(
      (root) => {
        seen.push(transactions.version);
        return add(`server 10.0.1.${n}:80;`)(root);
      },
      { requestId: `call ${n}`, actor: `user ${n}`, applied: (change) => void (told[n] = change) },
    ),
  );
  const numbers = Array.from({ length: 10 }, (_, n) => n + 1);
  t.deepEqual(await master.outcomes(waiting), numbers);
  // That of the first one, and that of all others.
  t.is(prepares(master) - before, 2);
  t.deepEqual(
    workers.map(({ committed }) => committed.length),
    [2, 2],
  );
  const { version } = transactions;
  t.deepEqual(
    seen,
    numbers.map((n) => version - 11 + n),
  );
  t.deepEqual(
    members(master).slice(2),
    numbers.map((n) => `10.0.1.${n - 1}:80@${n + 1}`),
  );
  const history = store.history.last(10).toReversed();
  t.deepEqual(
    history.map((entry) => [entry.version, entry.origin, entry.actor]),
    numbers.map((n) => [version - 10 + n, `call ${n - 1}`, `user ${n - 1}`]),
  );
  for (const [n, { changes }] of history.entries()) {
    const [change, ...more] = JSON.parse(changes) as { after: string }[];
    t.deepEqual([change?.after.trim(), more], [`server 10.0.1.${n}:80;`, []]);
    t.like(told[n], { version: version - 9 + n, count: 1, summary: [`+ http / upstream demo / server@${n + 2} 10.0.1.${n}:80`] });
  }
  const again = await restart(t, master, CONFIG, master.folder);
  t.deepEqual(members(again), members(master));
});

test('what cannot take effect holds up none of those that it waited with', async (t) => {
  const master = await busyMaster(t);
  const { transactions, worker, workers } = master;
  const other = workers[1] as FakeWorker;
  const prepare = other.prepare.bind(other);
  // Only in a worker does it show that this one is not possible.
  other.prepare = (tx, operations) =>
    operations.includes('10.0.1.66') ? Promise.reject(new ConfigErrors([new ConfigError('not here', undefined)])) : prepare(tx, operations);
  const waiting = [
    transactions.apply(add('server 10.0.1.1:80;')),
    transactions.apply(add('server 10.0.1.2:80 weight=0;')),
    transactions.apply(() => {
      throw new ApiError(412, 'VersionMismatch', 'no');
    }),
    transactions.apply(add('server 10.0.1.3:80;')),
    transactions.apply(add('server 10.0.1.66:80;')),
    transactions.apply(replace('10.0.1.3:80', 'server 10.0.1.4:80;')),
    transactions.apply(remove('10.0.1.1:80')),
    transactions.apply(replace('10.0.1.66:80', 'server 10.0.1.6:80;')),
    transactions.apply(inLocation('gzip on;')),
    transactions.apply(inLocation('gzip off;')),
    transactions.apply(add('server 10.0.1.5:80;'), { dryRun: true }),
    transactions.apply(add('server 10.0.1.7:80;')),
  ];
  const outcomes = await master.outcomes(waiting);
  t.deepEqual(outcomes.slice(0, 7), [1, '400 ConfigError', '412 VersionMismatch', 2, '400 ConfigError', 3, 4]);
  // What it would have changed never came.
  t.regex(String(outcomes[7]), /no server 10\.0\.1\.66/);
  t.deepEqual(outcomes.slice(8), [5, '400 ConfigError', 5, 6]);
  t.deepEqual(members(master), ['10.0.0.1:80@0', '10.0.0.2:80@1', '10.0.1.4:80@3', '10.0.1.7:80@4']);
  for (const { tree } of [worker, other]) t.is(find(tree.root, 'gzip').args[0]?.text, 'on');
  const again = await restart(t, master, CONFIG, master.folder);
  t.deepEqual(members(again), members(master));
});

test('a worker that dies of one of several changes takes no other worker along', async (t) => {
  const master = await busyMaster(t);
  const { transactions, workers } = master;
  const waiting = Array.from({ length: 4 }, (_, n) => transactions.apply(add(`server 10.0.1.${n}:80;`)));
  let asked = 0;
  const outcomes = master.outcomes(waiting);
  const [first, second] = workers as [FakeWorker, FakeWorker];
  const commit = second.commit.bind(second);
  second.commit = (tx) => {
    for (const worker of [first, second]) {
      worker.prepare = () => {
        asked++;
        return worker.die();
      };
    }
    return commit(tx);
  };
  t.deepEqual(new Set(await outcomes), new Set(['503 DataPlaneUnavailable']));
  // One that dies by chance is allowed for.
  t.is(asked, 2);
  t.is(members(master).length, 2);
});

test('many changes at once, with a long list, a reload and a worker that joins among them, keep their order', async (t) => {
  const master = await busyMaster(t);
  const { transactions } = master;
  const one = (n: number): Promise<Applied> => transactions.apply(add(`server 10.0.${n >> 8}.${n & 255}:81;`));
  const list = transactions.apply((root) =>
    Array.from({ length: 1000 }, (_, n): Edit => ({
      op: 'add',
      parent: find(root, 'upstream'),
      text: `server 10.1.${n >> 8}.${n & 255}:80;`,
    })),
  );
  const before = Array.from({ length: 300 }, (_, n) => one(n));
  const reload = transactions.reload(() => master.parse(CONFIG));
  const after = Array.from({ length: 300 }, (_, n) => one(300 + n));
  const outcomes = await master.outcomes([list, ...before, reload, ...after]);
  t.deepEqual(
    outcomes.slice(0, 301),
    Array.from({ length: 301 }, (_, n) => n + 1),
  );
  t.is(outcomes.at(-1), Number(outcomes[301]) + 300);
  t.deepEqual(
    members(master)
      .slice(1002)
      .map((text) => text.replace(/@.*/, '')),
    Array.from({ length: 600 }, (_, n) => `10.0.${n >> 8}.${n & 255}:81`),
  );
});

test('rollbacks that wait revert what waits before them, once', async (t) => {
  const { transactions, store, printed, restarted, outcomes } = await busyMaster(t);
  const history = new StoredHistory(store, transactions);
  const { version } = transactions;
  const rename = transactions.apply((root) => [{ op: 'replace', target: find(root, 'server_name'), text: 'server_name b;' }]);
  const rollbacks = [1, 2].map(() => history.rollback(version, {}).then((done) => ({ ...done, directives: [] })));
  t.deepEqual(await outcomes([rename, ...rollbacks]), [1, 2, 2]);
  const before = printed();
  t.is([...before.matchAll(/vhost/g)].length, 1);
  t.regex(before, /server_name a;/);
  t.is(restarted(), before);
});
