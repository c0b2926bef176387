import test from 'ava';
import * as fc from 'fast-check';
import type { Directive } from '../../core/contract/tree.js';
import { diffTrees } from '../../core/config/diff.js';
import { describeChange } from '../../core/config/describe-change.js';
import { parseText } from '../../core/config/parser.js';
import { exactTree } from '../../core/contract/print.js';
import { directiveData } from '../../core/config/operations.js';
import { ConfigTree, IdSource, type TreeOperation } from '../../core/config/tree.js';
import { nginxRegistry } from './nginx-specs.js';
import { contentOf } from './random-trees.js';

const registry = nginxRegistry();

class Case {
  private readonly ids = new IdSource();
  readonly before: ConfigTree;
  readonly after: ConfigTree;
  readonly operations: readonly TreeOperation[];
  readonly result: ConfigTree;

  constructor(before: string, after: string) {
    this.before = this.parse(before);
    this.after = this.parse(after);
    this.operations = diffTrees(this.before, this.after, registry);
    this.result = this.before.apply(this.operations);
  }

  private parse(text: string): ConfigTree {
    const { directives, errors } = parseText(text, { ids: this.ids, file: '(test)' });
    if (errors[0] !== undefined) throw errors[0];
    return ConfigTree.fromData(directives);
  }

  /** The kinds of operations. */
  get kinds(): string {
    return this.operations.map(({ op }) => op).join(' ');
  }

  /** The id in the tree before of what is called so in the result; undefined if it is new. */
  oldId(head: string): number | undefined {
    const id = find(this.result.root, head)?.id;
    return id !== undefined && this.before.byId(id) !== undefined ? id : undefined;
  }

  keeps(head: string): boolean {
    const old = find(this.before.root, head)?.id;
    return old !== undefined && old === find(this.result.root, head)?.id;
  }

  get text(): string {
    return exactTree(this.result.root);
  }

  get description(): readonly string[] {
    return describeChange(this.before, this.result, this.operations, registry);
  }
}

function find(directives: Iterable<Directive>, head: string): Directive | undefined {
  for (const directive of directives) {
    if ([directive.name, ...directive.args.map(({ text }) => text)].join(' ') === head) return directive;
    const inside = find(directive.block ?? [], head);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

const DEMO = 'http { upstream demo { server a; server b weight=2; } server { listen 80; location / { proxy_pass http://demo; } } }';

test('trees that say the same differ in nothing, however they are written', (t) => {
  const { kinds } = new Case(DEMO, DEMO.replaceAll(' {', '\n{\n').replace('server a', 'server "a"'));
  t.is(kinds, '');
});

test('an added member is one operation', (t) => {
  const change = new Case(DEMO, DEMO.replace('weight=2;', 'weight=2; server c;'));
  t.is(change.kinds, 'add');
  t.true(change.keeps('server b weight=2'));
  t.deepEqual(change.description, ['http / upstream demo', '+ server c;']);
});

test('a removed member is one operation', (t) => {
  const change = new Case(DEMO, DEMO.replace('server a;', ''));
  t.is(change.kinds, 'remove');
  t.deepEqual(change.description, ['http / upstream demo', '- server a;']);
});

test('a changed member keeps its id', (t) => {
  const change = new Case(DEMO, DEMO.replace('weight=2', 'weight=3'));
  t.is(change.kinds, 'replace');
  t.is(change.oldId('server b weight=3'), find(change.before.root, 'server b weight=2')?.id);
  t.deepEqual(change.description, ['http / upstream demo', '- server b weight=2;', '+ server b weight=3;']);
});

test('members that change places are moved, and stay the same objects', (t) => {
  const change = new Case(DEMO, DEMO.replace('server a; server b weight=2;', 'server b weight=2; server c; server a;'));
  t.is(change.kinds, 'move add');
  for (const member of ['server a', 'server b weight=2']) t.is(find(change.result.root, member), find(change.before.root, member));
  t.is(change.oldId('server c'), undefined);
  t.deepEqual(change.description, ['http / upstream demo', '# the order of directives changed', '+ server c;']);
});

test('something new between others is one operation, and they stay the same objects', (t) => {
  const change = new Case(DEMO, DEMO.replace('listen 80;', 'listen 80; sendfile on;'));
  t.is(change.kinds, 'add');
  for (const head of ['location /', 'listen 80', 'upstream demo']) t.is(find(change.result.root, head), find(change.before.root, head));
  t.deepEqual(change.description, ['http / server 80', '+ sendfile on;']);
});

test('order at top level is changed in the same way', (t) => {
  const change = new Case('pid a; http { sendfile on; }', 'http { sendfile on; } pid a;');
  t.is(change.kinds, 'move');
  t.true(change.keeps('pid a') && change.keeps('http') && change.keeps('sendfile on'));
  t.deepEqual(change.description, ['main', '# the order of directives changed']);
});

function locations(...names: readonly number[]): string {
  return `http { server { ${names.map((name) => `location /${name} { }`).join(' ')} } }`;
}

/** What it takes to bring ten locations into this order. */
function moves(...names: readonly number[]): string {
  return new Case(locations(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), locations(...names)).kinds;
}

test('of ten locations in another order only those are moved that have to be', (t) => {
  t.is(moves(9, 0, 1, 2, 3, 4, 5, 6, 7, 8), 'move');
  t.is(moves(1, 2, 3, 4, 5, 6, 7, 8, 9, 0), 'move');
  t.is(moves(0, 5, 1, 2, 3, 4, 6, 8, 7, 9), 'move move');
});

test('a directive that may stand once is replaced, whatever it says', (t) => {
  const change = new Case('http { sendfile on; keepalive_timeout 5; }', 'http { sendfile off; keepalive_timeout 5; }');
  t.is(change.kinds, 'replace');
  t.is(change.oldId('sendfile off'), find(change.before.root, 'sendfile on')?.id);
});

test('servers are the same by what they listen to', (t) => {
  const before = 'http { server { listen 80; server_name a; return 200; } server { listen 80; server_name b; return 200; } }';
  const change = new Case(
    before,
    before.replace('server { listen 80; server_name a; return 200; } ', '').replace('return 200', 'return 404'),
  );
  t.is(change.kinds, 'remove replace');
  t.true(change.keeps('server_name b'));
  t.deepEqual(change.description, [
    'http',
    '- server {',
    '-     listen 80;',
    '-     server_name a;',
    '-     return 200;',
    '- }',
    'http / server 80\nb',
    '- return 200;',
    '+ return 404;',
  ]);
});

test('directives of one identity that are equal find each other', (t) => {
  const before = 'http { server { listen 80; return 201; } server { listen 80; return 202; } server { listen 80; return 203; } }';
  const change = new Case(before, before.replace('server { listen 80; return 201; } ', ''));
  t.is(change.kinds, 'remove');
  t.true(change.keeps('return 202') && change.keeps('return 203'));
});

test('lines of a map are the same by their first word', (t) => {
  const change = new Case('http { map $a $b { default x; y z; } }', 'http { map $a $b { default x; y w; v u; } }');
  t.is(change.kinds, 'replace add');
  t.deepEqual(change.description, ['http / map $a $b', '- y z;', '+ y w;', '+ v u;']);
});

test('keys of members are carried over, also when their block is replaced', (t) => {
  const ids = new IdSource();
  const parse = (text: string): ConfigTree => ConfigTree.fromData(parseText(text, { ids, file: '(test)' }).directives);
  const before = withKey(parse(DEMO), 'server b weight=2', 42);
  for (const text of [DEMO.replace('weight=2', 'weight=9'), DEMO.replace('server a; server b weight=2;', 'server b weight=9; server a;')]) {
    const after = before.apply(diffTrees(before, parse(text), registry));
    t.is(find(after.root, 'server b weight=9')?.key, 42);
  }
});

function withKey(tree: ConfigTree, head: string, key: number): ConfigTree {
  const directive = find(tree.root, head);
  return directive === undefined ? tree : tree.apply([{ op: 'replace', directive: { ...directiveData(directive), key } }]);
}

test('a member with another key is another member, though it says the same', (t) => {
  const ids = new IdSource();
  const keyed = (key: number): ConfigTree => {
    const { directives } = parseText('http { upstream u { server a; } }', { ids, file: '(test)' });
    return withKey(ConfigTree.fromData(directives), 'server a', key);
  };
  const before = keyed(1);
  t.deepEqual(diffTrees(before, keyed(1), registry), []);
  const operations = diffTrees(before, keyed(2), registry);
  t.deepEqual(
    operations.map(({ op }) => op),
    ['remove', 'add'],
  );
});

test('a block that became a line, and the other way round', (t) => {
  t.is(new Case('http { upstream u { } }', 'http { upstream u; }').text, 'http {\n    upstream u;\n}\n');
  t.is(
    new Case('http { upstream u; }', 'http { upstream u { least_conn; } }').text,
    'http {\n    upstream u {\n        least_conn;\n    }\n}\n',
  );
});

/** Configurations that are alike enough to have much in common. */
const member = fc
  .tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.constantFrom('', ' weight=2', ' down'))
  .map(([name, rest]) => `server ${name}${rest};`);
const upstream = fc
  .tuple(fc.constantFrom('u', 'v'), fc.array(member, { maxLength: 5 }))
  .map(([name, members]) => `upstream ${name} { ${members.join(' ')} }`);
const simple = fc.constantFrom(
  'sendfile on;',
  'sendfile off;',
  'root x;',
  'root "y z";',
  'error_page 404 a;',
  'error_page 500 b;',
  'unknown x;',
  'unknown { y; }',
);
const location = fc
  .tuple(fc.constantFrom('/', '/a', '/b'), fc.array(simple, { maxLength: 3 }))
  .map(([uri, inside]) => `location ${uri} { ${inside.join(' ')} }`);
const server = fc
  .tuple(fc.constantFrom('80', '81'), fc.array(fc.oneof(simple, location), { maxLength: 4 }))
  .map(([port, inside]) => `server { listen ${port}; ${inside.join(' ')} }`);
const configuration = fc
  .tuple(fc.array(simple, { maxLength: 2 }), fc.array(fc.oneof(upstream, server, simple), { maxLength: 5 }))
  .map(([top, inside]) => `${top.join(' ')} http { ${inside.join(' ')} }`);

test('what a diff does gives the other tree, and unchanged directives keep their ids', (t) => {
  const property = fc.property(configuration, configuration, (one, other) => {
    const change = new Case(one, other);
    t.deepEqual(contentOf(change.result.root), contentOf(change.after.root));
    t.deepEqual(diffTrees(change.result, change.after, registry), []);
    for (const directive of change.result.root) assertNotTwice(t.fail, change, directive);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

/** A directive that stands once before and after, in blocks that do as well, is the same one. */
function assertNotTwice(fail: (message: string) => void, change: Case, directive: Directive): void {
  const text = exactTree([directive]);
  const [before, after] = [change.before.root, change.result.root].map((root) => [...root].filter((other) => exactTree([other]) === text));
  if (before?.length === 1 && after?.length === 1 && before[0]?.id !== after[0]?.id) fail(`${text} has another id`);
  for (const child of directive.block ?? []) assertChild(fail, change, directive, child);
}

function assertChild(fail: (message: string) => void, change: Case, parent: Directive, child: Directive): void {
  const old = change.before.byId(parent.id);
  const text = exactTree([child]);
  const equal = (block: Iterable<Directive> | undefined): readonly Directive[] =>
    [...(block ?? [])].filter((other) => exactTree([other]) === text);
  const [before, after] = [equal(old?.block), equal(parent.block)];
  if (before.length === 1 && after.length === 1 && before[0]?.id !== after[0]?.id) fail(`${text} has another id`);
  for (const grandchild of child.block ?? []) assertChild(fail, change, child, grandchild);
}

test('a description names what came, what went and where', (t) => {
  const property = fc.property(configuration, configuration, (one, other) => {
    const change = new Case(one, other);
    t.is(change.description.length > 0, change.operations.length > 0);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 200 }));
});

function manyServers(answer: string): string {
  const servers = Array.from({ length: 10_000 }, (_, i) => `server { listen ${i}; return ${i === 5000 ? answer : 200}; }`);
  return `http { ${servers.join('\n')} }`;
}

test('ten thousand servers are compared quickly', (t) => {
  const start = process.threadCpuUsage();
  t.is(new Case(manyServers('200'), manyServers('404')).kinds, 'replace');
  t.true(process.threadCpuUsage(start).user < 3_000_000);
});
