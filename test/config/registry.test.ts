import test from 'ava';
import { parseText } from '../../core/config/parser.js';
import { SpecRegistry } from '../../core/config/registry.js';
import { ConfigTree, IdSource, ROOT_ID } from '../../core/config/tree.js';
import { flag } from '../../core/contract/args.js';
import { directive } from '../../core/contract/spec.js';
import { nginxRegistry } from './nginx-specs.js';

test('one name may mean different things in different contexts', (t) => {
  const registry = nginxRegistry();
  t.is(registry.find('http', 'server')?.module, 'srv_http_module');
  t.is(registry.find('upstream', 'server')?.module, 'srv_upstream_module');
  t.deepEqual(registry.contextsOf('server'), ['http', 'upstream']);
  t.is(registry.find('server', 'if')?.spec.block, 'if in server');
  t.is(registry.find('location', 'if')?.spec.block, 'if in location');
  t.is(registry.find('main', 'server'), undefined);
});

test('a directive of two modules in one context is rejected, with both names', (t) => {
  const registry = new SpecRegistry();
  t.deepEqual(registry.register('first', { x: directive({ in: ['http', 'server'], args: flag() }) }), []);
  t.deepEqual(registry.register('second', { x: directive({ in: ['server', 'location'] }), y: directive({ in: ['http'] }) }), [
    'directive "x" in context "server" is declared by both "first" and "second"',
  ]);
  t.is(registry.find('server', 'x')?.module, 'first');
  t.is(registry.find('location', 'x')?.module, 'second');
  t.is(registry.find('http', 'y')?.module, 'second');
});

test('a module may not declare a directive twice either', (t) => {
  const registry = new SpecRegistry();
  const faults = registry.register('only', { x: directive({ in: ['http'] }), 'x again': directive({ name: 'x', in: ['http'] }) });
  t.deepEqual(faults, ['directive "x" in context "http" is declared by both "only" and "only"']);
});

test('the context of a directive follows from what is around it', (t) => {
  const registry = nginxRegistry();
  const ids = new IdSource();
  const { directives } = parseText(
    'http { server { location / { if ($a) { return 1; } } if ($b) { return 2; } } upstream u { server x; } strange { a; } }',
    { ids, file: '' },
  );
  const tree = ConfigTree.fromData(directives);
  const contexts = new Map<string, string | undefined>();
  for (let id = 1; tree.byId(id) !== undefined; id++) {
    const { name, args } = tree.byId(id) ?? { name: '', args: [] };
    contexts.set([name, ...args.map(({ text }) => text)].join(' '), registry.contextOf(tree, id));
  }
  t.deepEqual(Object.fromEntries(contexts), {
    http: 'main',
    server: 'http',
    'location /': 'server',
    'if ($a)': 'location',
    'return 1': 'if in location',
    'if ($b)': 'server',
    'return 2': 'if in server',
    'upstream u': 'http',
    'server x': 'upstream',
    strange: 'http',
    a: undefined,
  });
  t.is(registry.contextWithin(tree, ROOT_ID), 'main');
  t.is(registry.contextWithin(tree, 1), 'http');
});

test('knows where a directive of a module that is not loaded would come from', (t) => {
  const registry = nginxRegistry();
  t.is(registry.shippedIn('captcha'), 'modules/srv_http_captcha_module.js');
  t.is(registry.shippedIn('captch'), undefined);
});
