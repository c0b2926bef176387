/** A rollback and a transaction of many calls cost what they change: five times as much costs five times as much, not 25 times. */
import test, { type ExecutionContext } from 'ava';
import { StoredHistory } from '../../core/changes/configuration-history.js';
import type { StagedCall } from '../../core/changes/staged-calls.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { tempFolder } from '../harness/temp.js';
import { fakeMaster, find } from './fake-master.js';

const [FEW, MANY] = [150, 750];
/** Far from both 5 and 25: what else the machine does is measured as well. */
const MOST = 13;
/** More measurements where one shows more. */
const TRIES = 3;

const KINDS = {
  locations: { config: 'http { vhost { server_name a; } }', block: 'vhost', text: (n: number) => `location /l${n} { status 200; }` },
  servers: { config: 'http {}', block: 'http', text: (n: number) => `vhost { server_name n${n}; location / { status 200; } }` },
  members: {
    config: 'http { upstream u { zone u 64k; } }',
    block: 'upstream',
    text: (n: number) => `server 10.1.${n >> 8}.${n & 255}:80;`,
  },
  'settings lines': { config: 'http { vhost { location /x { status 200; } } }', block: 'location', text: (n: number) => `allow n${n};` },
};
type Kind = (typeof KINDS)[keyof typeof KINDS];

const CONTEXT = { dryRun: false, requestId: '', actor: '', deadline: Infinity, extendDeadline: () => undefined };

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Milliseconds of CPU by step. */
async function costs(t: ExecutionContext, { config, block, text }: Kind, size: number): Promise<ReadonlyMap<string, number>> {
  const master = await fakeMaster(t, { config, folder: tempFolder(t), limits: { api: 600_000 } });
  const { transactions, store, instance } = master;
  const history = new StoredHistory(store, transactions);
  const spent = new Map<string, number>();
  const step = async (name: string, work: () => Promise<unknown>): Promise<void> => {
    const before = cpuMs();
    await work();
    spent.set(name, cpuMs() - before);
  };
  const numbers = Array.from({ length: size }, (_, n) => n);
  const parent = (root: Block): Directive => find(root, block);
  const added = (root: Block): Directive[] => [...parent(root).block!].filter(({ source }) => source.file !== 'srv.conf');
  const start = transactions.version;
  await transactions.apply((root) => numbers.map((n) => ({ op: 'add', parent: parent(root), text: text(n) })), CONTEXT);
  const full = transactions.version;
  await transactions.apply((root) => added(root).map((target) => ({ op: 'remove', target })), CONTEXT);
  await step('what was removed comes back', () => history.rollback(full, CONTEXT));
  t.is(added(instance.tree.root).length, size);
  await step('what was added goes', () => history.rollback(start, CONTEXT));
  t.is(added(instance.tree.root).length, 0);
  const empty = transactions.version;
  const calls = numbers.map((n): StagedCall => async (time) => {
    const value = await transactions.apply((root) => [{ op: 'add', parent: parent(root), text: text(n) }], { ...CONTEXT, ...time });
    return { value };
  });
  await step('a transaction of many calls', () => transactions.together(calls, CONTEXT));
  t.is(added(instance.tree.root).length, size);
  await step('it is taken back', () => history.rollback(empty, CONTEXT));
  t.is(added(instance.tree.root).length, 0);
  if (block !== 'location') return spent;
  await step('one change after the other', async () => {
    for (const n of numbers) await transactions.apply((root) => [{ op: 'add', parent: parent(root), text: text(n) }], CONTEXT);
  });
  await history.rollback(empty, CONTEXT);
  t.is(added(instance.tree.root).length, 0);
  return spent;
}

/** The least of each step in both: what else ran meanwhile, and collections of garbage, come on top. */
function least(one: ReadonlyMap<string, number>, other: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map(Array.from(one, ([step, ms]) => [step, Math.min(ms, other.get(step) ?? ms)] as const));
}

for (const [what, kind] of Object.entries(KINDS)) {
  test.serial(`${what}: linear`, async (t) => {
    const few = await costs(t, kind, FEW);
    const ratio = (step: string, ms: number): number => ms / Math.max(few.get(step) ?? 0, 1);
    const isLinear = (many: ReadonlyMap<string, number>): boolean => Array.from(many).every(([step, ms]) => ratio(step, ms) < MOST);
    let many = await costs(t, kind, MANY);
    for (let more = 0; more < TRIES && !isLinear(many); more++) many = least(many, await costs(t, kind, MANY));
    for (const [step, ms] of many) {
      t.log(`${step}: ${Math.round(ms)} ms, ${ratio(step, ms).toFixed(1)} times`);
      t.true(ratio(step, ms) < MOST, step);
    }
  });
}
