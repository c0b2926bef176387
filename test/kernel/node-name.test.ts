import test from 'ava';
import { defaultNodeName } from '../../core/kernel/node-name.js';
import { check } from '../harness/check.js';

test('a node name has letters, digits, "-", "." and "_", and is not longer than 64', async (t) => {
  for (const name of ['a', 'proxy-1.eu_west', '10.0.0.1', 'x'.repeat(64)])
    t.is((await check(t, `node_name ${name}; events {}`)).code, 0, name);
  for (const name of ['""', '"a b"', 'a/b', 'knoten-ä', 'a:1', '$hostname', 'x'.repeat(65)]) {
    const { code, stderr } = await check(t, `node_name ${name}; events {}`);
    t.is(code, 1, name);
    t.regex(stderr, /invalid node name ".*": it must have 1 to 64 letters, digits, "-", "\." or "_" in .*:1/, name);
  }
  t.regex((await check(t, 'node_name a; node_name b; events {}')).stderr, /duplicate/);
});

test('the host name becomes a node name, whatever the system allows in it', (t) => {
  t.is(defaultNodeName('proxy-1.example.org'), 'proxy-1.example.org');
  t.is(defaultNodeName('büro "1"'), 'b-ro--1-');
  t.is(defaultNodeName('x'.repeat(300)), 'x'.repeat(64));
  t.is(defaultNodeName(''), 'node');
  t.regex(defaultNodeName(), /^[\w.-]{1,64}$/);
});
