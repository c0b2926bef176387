/** Ordered lines that were changed one at a time: the history has each change, not the whole block, and the way back is exact. */
import test from 'ava';
import { StoredHistory } from '../../core/changes/configuration-history.js';
import { exactTree } from '../../core/contract/print.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import type { Edit } from '../../core/contract/transactions.js';
import { tempFolder } from '../harness/temp.js';
import { fakeMaster, find, type FakeMaster } from './fake-master.js';

const CONFIG = 'http { vhost { location /x { allow a; cache one size=1; allow b; status 200; allow a; } } }';
const CONTEXT = { dryRun: false, requestId: '', actor: '', deadline: Infinity, extendDeadline: () => undefined };

const location = (root: Block): Directive => find(root, 'location');
const linesIn = (root: Block): Directive[] => [...location(root).block!.named('allow')];
/** The others have no order among them. */
const orderOf = ({ instance }: FakeMaster): string =>
  exactTree([...location(instance.tree.root).block!].filter(({ name }) => name !== 'status'));

async function start(t: Parameters<typeof fakeMaster>[0]) {
  const master = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t), limits: { api: 600_000 } });
  return { master, history: new StoredHistory(master.store, master.transactions) };
}

test('an entry of the history is as long as its change, however many lines the block has', async (t) => {
  const { master } = await start(t);
  for (let n = 0; n < 300; n++) {
    await master.transactions.apply((root) => [{ op: 'add', parent: location(root), text: `allow n${n};` }], CONTEXT);
  }
  await master.transactions.apply((root) => [{ op: 'remove', target: linesIn(root)[150]! }], CONTEXT);
  const lengths = master.store.history.last(301).map(({ changes }) => changes.length);
  t.is(lengths.length, 301);
  t.true(Math.max(...lengths) < 200, String(Math.max(...lengths)));
});

/** Equal sequences in every run. */
function pseudoRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** One change of the lines. Names repeat, so that equal lines are among them. */
function anyEdit(root: Block, random: (below: number) => number): Edit {
  const lines = linesIn(root);
  const line = lines[random(lines.length)];
  const text = `allow ${'abcdefgh'[random(8)]};`;
  if (line === undefined || random(5) < 2)
    return { op: 'add', parent: location(root), text, ...(random(2) === 0 && line && { before: line }) };
  return random(3) === 0 ? { op: 'replace', target: line, text } : { op: 'remove', target: line };
}

for (const seed of [1, 2, 3, 4]) {
  test(`lines are in their former order after a rollback, seed ${seed}`, async (t) => {
    const { master, history } = await start(t);
    const random = pseudoRandom(seed);
    const texts = new Map([[master.transactions.version, orderOf(master)]]);
    for (let step = 0; step < 40; step++) {
      const several = random(6) === 0 ? 3 : 1;
      if (several === 1) await master.transactions.apply((root) => [anyEdit(root, random)], CONTEXT);
      else {
        const adds = Array.from({ length: several }, () => `allow ${'abcdefgh'[random(8)]};`);
        await master.transactions.apply((root) => adds.map((text) => ({ op: 'add', parent: location(root), text })), CONTEXT);
      }
      texts.set(master.transactions.version, orderOf(master));
      if (step % 8 !== 7) continue;
      const versions = [...texts.keys()];
      const version = versions[random(versions.length)]!;
      await history.rollback(version, CONTEXT);
      t.is(orderOf(master), texts.get(version)!, `step ${step}`);
      texts.set(master.transactions.version, orderOf(master));
    }
  });
}
