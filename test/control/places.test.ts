/** Where an addition was put is where it is after a restart. */
import assert from 'node:assert/strict';
import test from 'ava';
import * as fc from 'fast-check';
import { StoredHistory } from '../../core/changes/configuration-history.js';
import { exactTree } from '../../core/contract/print.js';
import type { Edit } from '../../core/contract/transactions.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { tempFolder } from '../harness/temp.js';
import { fakeMaster, find, restart } from './fake-master.js';

const CONFIG = 'http { vhost { server_name a; location /1 { } location /2 { } location /3 { } } }';

const locations = (root: Block): Directive[] => [...(find(root, 'vhost').block?.named('location') ?? [])];
const namesOf = (root: Block): string[] => locations(root).map(({ args }) => args[0]?.text ?? '');

/** The first name of each server. */
function serverNames(root: Block): (string | undefined)[] {
  const servers = find(root, 'http').block?.named('vhost') ?? [];
  return Array.from(servers, ({ block }) => [...(block?.named('server_name') ?? [])][0]?.args[0]?.text);
}

interface Step {
  readonly kind: 'before' | 'last' | 'remove' | 'replace';
  readonly pick: number;
}

function editOf({ kind, pick }: Step, name: string): (root: Block) => Edit[] {
  return (root) => {
    const present = locations(root);
    const target = present[pick % present.length];
    const parent = find(root, 'vhost');
    const text = `location ${name} { }`;
    if (kind === 'last' || target === undefined) return [{ op: 'add', parent, text }];
    if (kind === 'before') return [{ op: 'add', parent, text, before: target }];
    if (kind === 'remove') return [{ op: 'remove', target }];
    return [{ op: 'replace', target, text: `location ${target.args[0]?.text} { gzip on; }` }];
  };
}

test('additions keep their places over restarts, whatever comes and goes around them', async (t) => {
  const kinds = fc.constantFrom<Step['kind']>('before', 'before', 'before', 'last', 'remove', 'replace');
  const steps = fc.array(fc.record({ kind: kinds, pick: fc.nat(50) }), { minLength: 1, maxLength: 12 });
  const property = fc.asyncProperty(steps, async (steps) => {
    const folder = tempFolder(t);
    const first = await fakeMaster(t, { config: CONFIG, folder });
    let names = 10;
    for (const step of steps) await first.transactions.apply(editOf(step, `/${names++}`));
    const expected = namesOf(first.instance.tree.root);
    for (const worker of first.workers) t.deepEqual(namesOf(worker.tree.root), expected);
    const second = await restart(t, first, CONFIG, folder);
    t.deepEqual(namesOf(second.instance.tree.root), expected);
  });
  await t.notThrowsAsync(fc.assert(property, { numRuns: 40 }));
});

test('additions keep their places over restarts when a rollback brings back what stood between them', async (t) => {
  const kinds = fc.constantFrom<Step['kind']>('before', 'before', 'last', 'remove', 'remove', 'replace');
  const steps = fc.array(fc.record({ kind: kinds, pick: fc.nat(50) }), { minLength: 1, maxLength: 5 });
  const property = fc.asyncProperty(steps, fc.nat(50), steps, async (before, pick, after) => {
    const folder = tempFolder(t);
    const first = await fakeMaster(t, { config: CONFIG, folder });
    const { store, transactions } = first;
    let names = 10;
    const texts = new Map([[transactions.version, first.printed()]]);
    for (const step of before) {
      await transactions.apply(editOf(step, `/${names++}`));
      texts.set(transactions.version, first.printed());
    }
    const version = [...texts.keys()][pick % texts.size] ?? 0;
    await new StoredHistory(store, transactions).rollback(version, {});
    assert.equal(first.printed(), texts.get(version));
    for (const step of after) await transactions.apply(editOf(step, `/${names++}`));
    assert.equal(first.restarted(), first.printed());
  });
  const inserted: Step = { kind: 'before', pick: 0 };
  const examples: [Step[], number, Step[]][] = [
    [[inserted, { kind: 'remove', pick: 1 }], 1, [inserted]],
    [[{ kind: 'before', pick: 1 }, { kind: 'remove', pick: 0 }, { kind: 'remove', pick: 0 }, inserted], 0, [inserted]],
  ];
  await t.notThrowsAsync(fc.assert(property, { numRuns: 40, examples }));
});

test('changes of one transaction leave what they leave one by one, also after a restart', async (t) => {
  const kinds = fc.constantFrom<Step['kind']>('before', 'before', 'last', 'last', 'remove', 'remove', 'replace');
  const steps = fc.array(fc.record({ kind: kinds, pick: fc.nat(50) }), { minLength: 2, maxLength: 10 });
  const property = fc.asyncProperty(steps, steps, async (before, steps) => {
    const folder = tempFolder(t);
    const [alone, together] = [
      await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) }),
      await fakeMaster(t, { config: CONFIG, folder }),
    ];
    for (const [at, step] of before.entries())
      for (const { transactions } of [alone, together]) await transactions.apply(editOf(step, `/${10 + at}`));
    for (const [at, step] of steps.entries()) await alone.transactions.apply(editOf(step, `/${30 + at}`));
    const { outcomes } = await together.transactions.together(
      steps.map((step, at) => async () => ({ value: await together.transactions.apply(editOf(step, `/${30 + at}`)) })),
      { dryRun: false, requestId: 'r' },
    );
    t.is(outcomes.length, steps.length);
    t.is(together.printed(), alone.printed());
    for (const { tree } of together.workers) t.is(exactTree(tree.root), alone.printed());
    t.deepEqual(together.drift(CONFIG), alone.drift(CONFIG));
    const restarted = await restart(t, together, CONFIG, folder);
    t.is(restarted.printed(), alone.printed());
  });
  await t.notThrowsAsync(fc.assert(property, { numRuns: 12 }));
});

test('a block that is called something else afterwards keeps its place', async (t) => {
  const config = 'http { vhost { server_name a; } vhost { server_name b; } }';
  const folder = tempFolder(t);
  const first = await fakeMaster(t, { config, folder });
  await first.transactions.apply((root) => [{ op: 'replace', target: find(root, 'server_name', 'a'), text: 'server_name c;' }]);
  t.deepEqual(serverNames(first.instance.tree.root), ['c', 'b']);
  const second = await restart(t, first, config, folder);
  t.deepEqual(serverNames(second.instance.tree.root), ['c', 'b']);
});

for (const [what, pick, left, expected] of [
  ['the sibling', 1, ['/1', '/3'], ['/1', '/new', '/3']],
  ['the first one', 0, ['/2', '/3'], ['/new', '/2', '/3']],
  ['the sibling and what is in front of it', 1, ['/3'], ['/3', '/new']],
  ['what is in front of it', 1, ['/2', '/3'], ['/new', '/2', '/3']],
] as const) {
  test(`an addition between others has its place when the file has lost ${what}`, async (t) => {
    const folder = tempFolder(t);
    const first = await fakeMaster(t, { config: CONFIG, folder });
    await first.transactions.apply(editOf({ kind: 'before', pick }, '/new'));
    const config = `http { vhost { server_name a; ${left.map((name) => `location ${name} { }`).join(' ')} } }`;
    const second = await restart(t, first, config, folder);
    t.deepEqual(namesOf(second.instance.tree.root), expected);
    const third = await restart(t, second, config, folder);
    t.deepEqual(namesOf(third.instance.tree.root), expected);
  });
}

test('two additions in front of one that the file has lost keep their order', async (t) => {
  const folder = tempFolder(t);
  const first = await fakeMaster(t, { config: CONFIG, folder });
  await first.transactions.apply(editOf({ kind: 'before', pick: 1 }, '/new1'));
  await first.transactions.apply(editOf({ kind: 'before', pick: 2 }, '/new2'));
  t.deepEqual(namesOf(first.instance.tree.root), ['/1', '/new1', '/new2', '/2', '/3']);
  const second = await restart(t, first, CONFIG.replace('location /2 { }', ''), folder);
  t.deepEqual(namesOf(second.instance.tree.root), ['/1', '/new1', '/new2', '/3']);
});
