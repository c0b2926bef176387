import test from 'ava';
import { AccessRules } from '../../core/toolkit/access-rules.js';
import { ConfigBlock } from '../../core/config/block.js';
import type { Block, Directive } from '../../core/contract/tree.js';

const line = (id: number, name: string): Directive => ({ id, name, args: [], source: { file: 'a', line: id, column: 1 } });

test('rules that many locations inherit are read once, in the order of both kinds', (t) => {
  let looks = 0;
  const directives = ['deny', 'location', 'allow', 'location', 'deny'].map((name, at) => line(at, name));
  const block = new Proxy<Block>(ConfigBlock.of(directives), {
    get: (target, name) => {
      if (name === Symbol.iterator) looks++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const server = {
    conf: { allow: [(address: string) => address === 'b'], deny: [(address: string) => address === 'a', () => true] },
    directive: { ...line(9, 'server'), block },
    own: (name: string) => name !== 'location',
  };
  const rules = new AccessRules();
  const ofLocation = () => rules.inForce({ ...server, own: () => false, parent: server });
  const first = ofLocation();
  for (let i = 0; i < 1000; i++) t.is(ofLocation(), first);
  t.is(looks, 1);
  t.deepEqual(
    first?.map(({ line: { id }, allows }) => [id, allows]),
    [
      [0, false],
      [2, true],
      [4, false],
    ],
  );
});
