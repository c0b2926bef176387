/** Several nodes with one order of changes. */
import assert from 'node:assert/strict';
import test, { type ExecutionContext } from 'ava';
import * as fc from 'fast-check';
import { stateOf } from '../../core/changes/store-state.js';
import { ApiError } from '../../core/contract/control.js';
import { tempFolder } from '../harness/temp.js';
import { waitFor } from '../harness/wait.js';
import { LogConflict } from '../../core/changes/commit-log.js';
import { flag } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';
import type { Block } from '../../core/contract/tree.js';
import { add, find, members, registry, remove } from './fake-master.js';
import { LogNode, SharedLogs, type LogNodeOptions } from './log-node.js';
import { CONFIG, OPERATIONS, steps, type Step } from './node-operations.js';

async function startNode(t: ExecutionContext, logs: SharedLogs, options: Partial<LogNodeOptions> & { name: string }): Promise<LogNode> {
  const node = await LogNode.start(logs, { config: CONFIG, folder: tempFolder(t), ...options });
  t.teardown(() => node.end());
  return node;
}

async function upToDate(nodes: readonly LogNode[]): Promise<void> {
  await waitFor('all nodes', () => nodes.every((node) => node.isUpToDate));
  // Workers commit after the master.
  for (const { master } of nodes) await master.transactions.between(() => Promise.resolve());
}

/** Carries steps out, each while those before it are on their way. @returns errors that no client should get */
async function run(nodes: readonly LogNode[], logs: SharedLogs, all: readonly Step[]): Promise<readonly string[]> {
  const errors: string[] = [];
  let running: Promise<unknown>[] = [];
  for (const step of all) {
    if ('operation' in step) {
      const done = Promise.resolve().then(() => OPERATIONS[step.operation]?.(nodes[step.at] as LogNode, step.n));
      running.push(done.catch((error: unknown) => void (isExpected(error) || errors.push(String((error as Error).stack)))));
    } else if (step.event === 'wait') {
      await Promise.all(running);
      running = [];
    } else if (step.event === 'trim') logs.trim();
    else if ('at' in step) nodes[step.at]?.connect(step.event === 'connect');
  }
  await Promise.all(running);
  return errors;
}

/** The directive is gone, or was never there; a condition does not hold; the log is out of reach. */
const isExpected = (error: unknown): boolean => error instanceof ApiError || /^no (upstream|vhost|http)/.test((error as Error).message);

test('two nodes have the same state and order, however their changes and failures come together', async (t) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 16 }), async (all, delays) => {
      const logs = new SharedLogs();
      let call = 0;
      const delay = (): number => delays[call++ % delays.length] ?? 0;
      const nodes: LogNode[] = [];
      for (const name of ['a', 'b']) nodes.push(await LogNode.start(logs, { name, config: CONFIG, folder: tempFolder(t), delay }));
      try {
        const errors = await run(nodes, logs, all);
        for (const node of nodes) node.connect(true);
        await upToDate(nodes);
        const [a, b] = nodes.map((node) => node.state);
        assert.deepEqual(errors, []);
        assert.equal(a, b);
        assert.ok(
          nodes.every((node) => node.isWhole),
          'a worker or a start has another configuration',
        );
      } finally {
        for (const node of nodes) await node.end();
      }
    }),
    { numRuns: Number(process.env['SRV_LOG_RUNS'] ?? 50) },
  );
  t.pass();
});

/** Two nodes that have what is in the logs. */
async function twoNodes(t: ExecutionContext, options: Partial<LogNodeOptions> = {}): Promise<[LogNode, LogNode, SharedLogs]> {
  const logs = new SharedLogs();
  return [await startNode(t, logs, { name: 'a' }), await startNode(t, logs, { name: 'b', ...options }), logs];
}

const nodesOf = ({ master }: LogNode): string[] =>
  master.store.history
    .last(100)
    .toReversed()
    .map(({ version, node, origin }) => `${version} ${node} ${origin}`);

test('of two changes at the same time each follows the other; the second is made again', async (t) => {
  const [a, b] = await twoNodes(t);
  const builds: string[] = [];
  const counted = (name: string, text: string) => (root: Block) => {
    builds.push(name);
    return add(text)(root);
  };
  const applied = await Promise.all([
    a.master.transactions.apply(counted('a', 'server 10.0.0.3:80;'), { requestId: 'one' }),
    b.master.transactions.apply(counted('b', 'server 10.0.0.4:80;'), { requestId: 'two' }),
  ]);
  t.is(applied[0].version + applied[1].version, 3);
  t.is(builds.length, 3);
  await upToDate([a, b]);
  t.is(a.state, b.state);
  t.deepEqual(
    members(a.master)
      .slice(2)
      .map((member) => member.slice(-2)),
    ['@2', '@3'],
  );
  t.deepEqual(nodesOf(b), ['1 a one', '2 b two']);
});

/** A change that depends on the version of the configuration. */
const onVersion =
  ({ master: { transactions } }: LogNode, version: number, text: string) =>
  (root: Block) => {
    if (transactions.version !== version) throw new ApiError(412, 'VersionMismatch', 'another version');
    return add(text)(root);
  };

test('a condition that a change of another node ends is a 412 at this node', async (t) => {
  const [a, b] = await twoNodes(t);
  const outcomes = await Promise.allSettled([
    a.master.transactions.apply(onVersion(a, 0, 'server 10.0.0.3:80;')),
    b.master.transactions.apply(onVersion(b, 0, 'server 10.0.0.4:80;')),
  ]);
  const rejected = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
  t.is(rejected.length, 1);
  t.like(rejected[0]?.reason, { status: 412, code: 'VersionMismatch' });
  const pairs = await Promise.allSettled([a, b].map((node) => node.pairs.set('x', node.name, { ifNoneMatch: '*' })));
  t.deepEqual(pairs.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
  await upToDate([a, b]);
  t.is(a.state, b.state);
  t.is(a.master.transactions.version, 1);
});

test('a change that never gets its turn among those of other nodes is a 409, and has changed nothing', async (t) => {
  const [a, b, logs] = await twoNodes(t);
  const append = logs.configuration.append.bind(logs.configuration);
  let tries = 0;
  logs.configuration.append = () => {
    tries++;
    throw new LogConflict();
  };
  t.like(await t.throwsAsync(a.master.transactions.apply(add('server 10.0.0.3:80;'))), { status: 409, code: 'ChangedMeanwhile' });
  t.true(tries > 1 && tries < 100);
  logs.configuration.append = append;
  await a.master.transactions.apply(add('server 10.0.0.4:80;'));
  await upToDate([a, b]);
  t.deepEqual(members(b.master), ['10.0.0.1:80@0', '10.0.0.2:80@1', '10.0.0.4:80@2']);
});

test('a node that was away catches up, by entries or by a snapshot', async (t) => {
  for (const isTrimmed of [false, true]) {
    const [a, b, logs] = await twoNodes(t);
    await a.pairs.set('before', '1');
    await upToDate([a, b]);
    b.connect(false);
    await waitFor('the loss', () => b.master.transactions.node.state === 'behind');
    t.like(await t.throwsAsync(b.master.transactions.apply(add('server 10.0.0.9:80;'))), { status: 503, code: 'StoreUnavailable' });
    await a.master.transactions.apply(add('server 10.0.0.3:80;'), { requestId: 'one', actor: 'deploy', message: 'why' });
    await a.master.transactions.apply(remove('10.0.0.1:80'), { requestId: 'two' });
    await a.pairs.set('color', 'red');
    await a.pairs.delete('before');
    if (isTrimmed) logs.trim();
    b.connect(true);
    await upToDate([a, b]);
    t.is(a.state, b.state);
    t.true(b.isWhole);
    t.is(b.pairs.get('color'), 'red');
    t.deepEqual(nodesOf(b), ['1 a one', '2 a two']);
    t.like(b.master.store.history.last(2)[1], { actor: 'deploy', message: 'why' });
    t.deepEqual(
      b.statuses.map(({ state }) => state),
      ['behind', 'in_sync'],
    );
  }
});

test('the same number of another epoch is another version: the node takes over the state of the log', async (t) => {
  const [a, b, logs] = await twoNodes(t);
  b.connect(false);
  await a.master.transactions.apply(add('server 10.0.0.3:80;'), { requestId: 'lost' });
  a.connect(false);
  const { store, transactions } = b.master;
  logs.configuration.beginAgain({ state: stateOf(store), version: transactions.node.version });
  b.connect(true);
  await upToDate([b]);
  await transactions.apply(add('server 10.0.0.4:80;'), { requestId: 'kept' });
  t.deepEqual(
    [a, b].map(({ master }) => master.transactions.node.version),
    [
      { epoch: 1, number: 1 },
      { epoch: 2, number: 1 },
    ],
  );
  a.connect(true);
  await upToDate([a, b]);
  t.is(a.state, b.state);
  t.deepEqual(nodesOf(a), ['1 b kept']);
  t.true(a.isWhole);
});

test('a node that ends and starts again, and a new one, have what the others have', async (t) => {
  const logs = new SharedLogs();
  const folder = tempFolder(t);
  const a = await startNode(t, logs, { name: 'a' });
  const b = await LogNode.start(logs, { name: 'b', config: CONFIG, folder });
  await b.master.transactions.apply(add('server 10.0.0.3:80;'));
  await b.end();
  await a.master.transactions.apply(add('server 10.0.0.4:80;'));
  await a.pairs.set('color', 'red');
  const again = await startNode(t, logs, { name: 'b', folder });
  t.true(again.isUpToDate);
  logs.trim();
  const c = await startNode(t, logs, { name: 'c' });
  for (const node of [again, c]) {
    t.is(node.state, a.state, node.name);
    t.true(node.isWhole, node.name);
  }
  await c.master.transactions.apply(add('server 10.0.0.5:80;'));
  await upToDate([a, again, c]);
  t.is(c.state, a.state);
});

test('a node stops at an entry that it cannot apply, says so, rejects changes, and goes on when it can', async (t) => {
  const specs = registry({ lacks: 'gzip' });
  const [a, b] = await twoNodes(t, { specs });
  await a.master.transactions.apply((root) => [{ op: 'add', parent: find(root, 'location', '/x'), text: 'gzip on;' }]);
  await a.master.transactions.apply(add('server 10.0.0.3:80;'));
  await waitFor('the entry', () => b.master.transactions.node.state === 'diverged');
  t.like(b.master.transactions.node, { state: 'diverged', entry: 1, version: { epoch: 1, number: 0 } });
  t.regex(b.master.transactions.node.reason ?? '', /unknown directive "gzip"/);
  t.deepEqual(
    b.statuses.map(({ state, entry }) => [state, entry]),
    [['diverged', 1]],
  );
  t.deepEqual(members(b.master), ['10.0.0.1:80@0', '10.0.0.2:80@1']);
  const rejected = { status: 503, code: 'NodeDiverged' };
  t.like(await t.throwsAsync(b.master.transactions.apply(add('server 10.0.0.4:80;'))), rejected);
  await b.pairs.set('color', 'red');
  t.is(a.master.store.version, 2);
  // Its module is there now.
  specs.register('late', { gzip: directive({ in: ['location'], args: flag(), dynamic: true }) });
  await b.master.transactions.reload(() => b.master.parse(CONFIG));
  await upToDate([a, b]);
  t.is(a.state, b.state);
  t.like(b.statuses.at(-1), { state: 'in_sync', version: { number: 2 } });
});

test('a change that is in the log is active at the other nodes, and at this one when it can be stored', async (t) => {
  const [a, b] = await twoNodes(t);
  const { store } = a.master;
  const transaction = store.transaction.bind(store);
  store.transaction = () => {
    throw new Error('no space');
  };
  t.like(await t.throwsAsync(a.master.transactions.apply(add('server 10.0.0.3:80;'))), { status: 503, code: 'DataPlaneUnavailable' });
  await waitFor('the other node', () => b.isUpToDate);
  t.is(members(b.master).length, 3);
  t.is(members(a.master).length, 2);
  store.transaction = transaction;
  await a.master.transactions.apply(add('server 10.0.0.4:80;'));
  await upToDate([a, b]);
  t.is(a.state, b.state);
  t.is(members(a.master).length, 4);
});

test('the files of a node are its own: a reload does not change the version of the others, and nothing is saved into them', async (t) => {
  const [a, b] = await twoNodes(t);
  await a.master.transactions.apply(add('server 10.0.0.3:80;'));
  await upToDate([a, b]);
  const { version } = await b.master.transactions.reload(() => b.master.parse(CONFIG.replace('allow 1;', 'allow 1; allow 2;')));
  t.is(version, 1);
  t.is(a.master.store.version, 1);
  t.regex(b.master.printed(), /allow 2;/);
  await a.master.transactions.apply((root) => [{ op: 'add', parent: find(root, 'location', '/x'), text: 'allow 3;' }]);
  await upToDate([a, b]);
  t.regex(b.master.printed(), /allow 1;\s+allow 2;\s+allow 3;/);
  const saving = b.master.transactions.save({ dryRun: false, requestId: 'save' });
  t.like(await t.throwsAsync(saving), { status: 409, code: 'SaveImpossible' });
});
