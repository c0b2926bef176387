import test from 'ava';
import { IdSource, ConfigTree } from '../../core/config/tree.js';
import { parseText } from '../../core/config/parser.js';
import { ApiError } from '../../core/contract/control.js';
import type { Block, Directive } from '../../core/contract/tree.js';
import { SharedPool } from '../../core/toolkit/shared-pool.js';

const ids = new IdSource();
const tree = (text: string): Block => ConfigTree.fromData(parseText(text, { ids, file: 'x' }).directives).root;
const upstream = (name: string, size: string): Directive => {
  const [one] = tree(`upstream ${name} { zone ${name} ${size}; }`);
  if (one === undefined) throw new Error('no upstream');
  return one;
};
const always = (): boolean => true;
const isCounted = (one: Directive): boolean => one.args[0]?.text !== 'x';

test('the pool of dynamic zones has a limit, says what to do about it, and follows changes', (t) => {
  const pool = new SharedPool();
  const conf = 'shared_slab_pool_size 1k; http { upstream a { zone a 600; } upstream b { zone b; } }';
  const first = tree(conf);
  const error = t.throws(() => pool.assertRoom(upstream('c', '600'), first, always), { instanceOf: ApiError });
  t.like(error, { status: 507, code: 'SharedPoolExhausted' });
  t.is(
    error.message,
    'no memory for zone "c": it needs 600 bytes, 424 of 1024 are free; raise shared_slab_pool_size to 1200 at least and reload, or remove a dynamic upstream',
  );
  t.notThrows(() => pool.assertRoom(upstream('c', '424'), first, always));
  t.notThrows(() => pool.assertRoom(upstream('a', '1k'), first, always, upstream('a', '600')));
  const second = tree(conf);
  t.throws(() => pool.assertRoom(upstream('d', '600'), second, always));
  // The upstream that was counted goes, one that does not count comes, and a third that does.
  const third = tree(conf.replace('upstream a { zone a 600; }', 'upstream x { zone x 600; } upstream c { zone c 424; }'));
  t.notThrows(() => pool.assertRoom(upstream('d', '600'), third, isCounted));
  t.throws(() => pool.assertRoom(upstream('d', '601'), third, isCounted));
  t.notThrows(() => pool.assertRoom(upstream('d', '424'), tree(conf), always));
  t.throws(() => pool.assertRoom(upstream('d', '600'), tree(conf), always));
  t.notThrows(() => pool.assertRoom(upstream('d', '600'), tree(conf.replace('1k', '2k')), always));
  t.notThrows(() => pool.assertRoom(upstream('d', '1k'), tree(conf), () => false));
  const both = tree(conf.replace('upstream b { zone b; }', '').concat('stream { upstream a { zone c 400; } }'));
  t.throws(() => pool.assertRoom(upstream('d', '25'), both, always));
  t.notThrows(() => pool.assertRoom(upstream('d', '24'), both, always));
});
