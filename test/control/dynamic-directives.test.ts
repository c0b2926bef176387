/** The API changes what specs say is dynamic, and nothing else. */
import test from 'ava';
import { ApiError } from '../../core/contract/control.js';
import type { Edit } from '../../core/contract/transactions.js';
import type { Block } from '../../core/contract/tree.js';
import { tempFolder } from '../harness/temp.js';
import { fakeMaster, find } from './fake-master.js';

const CONFIG = 'http { vhost { server_name a; location / { cache main size=4k; label one; status 200; } } }';

type Change = (root: Block) => Edit[];
const add =
  (text: string): Change =>
  (root) => [{ op: 'add', parent: find(root, 'location'), text }];
const replace =
  (name: string, text: string): Change =>
  (root) => [{ op: 'replace', target: find(root, name), text }];
const remove =
  (name: string): Change =>
  (root) => [{ op: 'remove', target: find(root, name) }];

const ALLOWED: readonly (readonly [what: string, change: Change])[] = [
  ['adding what is dynamic', add('allow 10.0.0.1;')],
  ['removing what is dynamic', remove('status')],
  ['an argument that is dynamic', replace('cache', 'cache main size=8k;')],
  ['an argument that is dynamic gets its default', replace('cache', 'cache main;')],
  ['the same in other words', replace('cache', 'cache "main" size=4096;')],
];

for (const [what, change] of ALLOWED) {
  test(`allowed: ${what}`, async (t) => {
    const { transactions } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
    await t.notThrowsAsync(transactions.apply(change));
  });
}

const REJECTED: readonly (readonly [what: string, change: Change, name: string])[] = [
  ['adding what is not dynamic', add('label two;'), 'label'],
  ['changing what is not dynamic', replace('label', 'label two;'), 'label'],
  ['removing what is not dynamic', remove('label'), 'label'],
  ['another argument than the dynamic one', replace('cache', 'cache other size=4k;'), 'cache'],
  ['adding a directive of which an argument is dynamic', add('cache other;'), 'cache'],
  ['removing a directive of which an argument is dynamic', remove('cache'), 'cache'],
  ['something dynamic in the place of what is not', replace('label', 'allow 10.0.0.1;'), 'label'],
];

for (const [what, change, name] of REJECTED) {
  test(`rejected: ${what}`, async (t) => {
    const { transactions, printed } = await fakeMaster(t, { config: CONFIG, folder: tempFolder(t) });
    const before = printed();
    const error = await t.throwsAsync(transactions.apply(change), { instanceOf: ApiError });
    t.like(error, { status: 400, code: 'ConfigError' });
    t.regex(error?.message ?? '', new RegExp(`"${name}" directive cannot be changed at run time`));
    t.is(printed(), before);
  });
}
