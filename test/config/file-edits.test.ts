/** Changes of the tree in the text of its files. */
import test from 'ava';
import * as fc from 'fast-check';
import { diffTrees } from '../../core/config/diff.js';
import { editFiles, FileEditError } from '../../core/config/file-edits.js';
import { parseText } from '../../core/config/parser.js';
import { SpecRegistry } from '../../core/config/registry.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { operationOf, steps } from './random-operations.js';

const ids = new IdSource();
const registry = new SpecRegistry();
const parse = (text: string): ConfigTree => ConfigTree.fromData(parseText(text, { ids, file: 'main' }).directives);

/** The text that says what another one says. */
function edited(text: string, wanted: string) {
  const tree = parse(text);
  return editFiles(diffTrees(tree, parse(wanted), registry), { tree, main: 'main', read: () => text }).get('main');
}

for (const [what, before, wanted, after, diff] of [
  [
    'an addition has the indentation of its neighbours, comments stay',
    '# top\na {\n\tb; # why\n\t# last\n}\n',
    'a { b; c { d; } }',
    '# top\na {\n\tb; # why\n\t# last\n\tc {\n\t    d;\n\t}\n}\n',
    ['+ \tc {', '+ \t    d;', '+ \t}'],
  ],
  [
    'an addition to an empty block',
    'a {\n  b { }\n}\n',
    'a { b { c; } }',
    'a {\n  b { \n      c;\n  }\n}\n',
    ['-   b { }', '+   b { ', '+       c;', '+   }'],
  ],
  ['an addition in front of others', 'a {\n  b;\n  c;\n}\n', 'a { n; b; c; }', 'a {\n  n;\n  b;\n  c;\n}\n', ['+   n;']],
  [
    'an addition in front of another one of its line',
    'a { b; c; }',
    'a { b; n; c; }',
    'a { b; n; c; }',
    ['- a { b; c; }', '+ a { b; n; c; }'],
  ],
  ['an addition to a block of one line', 'a { b; }', 'a { b; c; }', 'a { b; \n    c;\n}', ['- a { b; }', '+ a { b; ', '+     c;', '+ }']],
  [
    'an addition to a file without an end of its last line',
    'a;',
    'a; b { c; }',
    'a;\nb {\n    c;\n}\n',
    ['- a;', '+ a;', '+ b {', '+     c;', '+ }'],
  ],
  ['a removal takes its line with it', 'a;\n  b 1; \nc;\n', 'a; c;', 'a;\nc;\n', ['-   b 1; ']],
  ['a removal takes the comment behind it with it', 'a;\nb; # of b\nc;', 'a; c;', 'a;\nc;', ['- b; # of b']],
  ['a removal leaves what else is on its line', 'a; b; # of b\nc;\n', 'a; c;', 'a;  # of b\nc;\n', ['- a; b; # of b', '+ a;  # of b']],
  [
    'lines end as they did',
    'a {\r\n  b;\r\n}\r\n',
    'a { b; c { d; } }',
    'a {\r\n  b;\r\n  c {\r\n      d;\r\n  }\r\n}\r\n',
    ['+   c {', '+       d;', '+   }'],
  ],
  [
    'a quoted brace is none',
    'a "}" {\n  b \'x;y\'; # }\n}\n',
    'a "}" { b \'x;y\'; c; }',
    'a "}" {\n  b \'x;y\'; # }\n  c;\n}\n',
    ['+   c;'],
  ],
  [
    'a moved directive keeps its text',
    'a;\nb   {\n # in b\n x; }\nc;\n',
    'c; a; b { x; }',
    'c;\na;\nb   {\n # in b\n x; }\n',
    ['+ c;', '- c;'],
  ],
] as const) {
  test(what, (t) => {
    const result = edited(before, wanted);
    t.is(result?.text, after);
    t.deepEqual(result?.diff, diff);
  });
}

test('whatever changes, the text says it and keeps its comments', (t) => {
  const text = '# one\na { b; # two\n  c { d; e; f { g; } } h;\n}\n# three\n\ni;\nj\n{ k { l; } m; }';
  const property = fc.property(steps, (all) => {
    const before = parse(text);
    let after = before;
    for (const step of all) {
      const operation = operationOf(after, step, ids);
      if (operation !== undefined) after = after.apply([operation]);
    }
    const { text: result = text } =
      editFiles(diffTrees(before, after, registry), { tree: before, main: 'main', read: () => text }).get('main') ?? {};
    t.deepEqual(diffTrees(parse(result), after, registry), []);
    t.true(result.startsWith('# one\n'));
    t.regex(result, /# three/);
  });
  fc.assert(property, { numRuns: 500 });
});

const read = (path: string): string => (path === 'main' ? 'a { include other; } b { include other; }' : 'x;');

test('a file that is included twice is not changed', (t) => {
  const included = (from: number) =>
    parseText('x;', { ids, file: 'other' }).directives.map((one) => ({
      ...one,
      source: { ...one.source, from: { file: 'main', line: from, column: 1 } },
    }));
  const [a, b] = parseText('a { } b { }', { ids, file: 'main' }).directives;
  const tree = ConfigTree.fromData([
    { ...a!, block: included(1) },
    { ...b!, block: included(2) },
  ]);
  const remove = diffTrees(tree, parse('a { } b { x; }'), registry);
  t.throws(() => editFiles(remove, { tree, main: 'main', read }), { instanceOf: FileEditError });
  const add = diffTrees(tree, parse('a { x; y; } b { x; }'), registry);
  t.is(editFiles(add, { tree, main: 'main', read }).get('main')?.text, 'a { include other; \n    y;\n} b { include other; }');
});
