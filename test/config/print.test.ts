import test from 'ava';
import * as fc from 'fast-check';
import { parseText } from '../../core/config/parser.js';
import { printTree } from '../../core/module/print.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { quoteWord } from '../../core/module/words.js';
import { anyText, contentOf, dataOf, shapes } from './random-trees.js';

function parsed(text: string): unknown {
  const { directives, errors } = parseText(text, { ids: new IdSource(), file: 'printed' });
  if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join('\n'));
  return contentOf(directives);
}

test('parsing what was printed gives the same tree', (t) => {
  const property = fc.property(shapes, (shapes) => {
    const tree = ConfigTree.fromData(dataOf(shapes, new IdSource()));
    t.deepEqual(parsed(printTree(tree.root)), contentOf(tree.root));
  });
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

test('what was printed and parsed prints the same', (t) => {
  const property = fc.property(shapes, (shapes) => {
    const once = printTree(dataOf(shapes, new IdSource()));
    const again = printTree(parseText(once, { ids: new IdSource(), file: 'printed' }).directives);
    t.is(again, once);
  });
  t.notThrows(() => fc.assert(property, { numRuns: 500 }));
});

test('a quoted text is one word, whatever it holds', (t) => {
  const property = fc.property(anyText, (text) => t.deepEqual(parsed(`a ${quoteWord(text)} b {}`), [['a', [text, 'b'], []]]));
  t.notThrows(() => fc.assert(property, { numRuns: 1000 }));
});

for (const text of ['/etc/srv.conf', '\\.php$', '~*\\.(gif|jpg)$', 'http://x?a=b', '${host}x', 'a#b', 'a}b', "it's", '$host', 'a\\b']) {
  test(`${text} needs no quotes`, (t) => t.is(quoteWord(text), text));
}

test('quotes are those that need no escapes', (t) => {
  t.is(quoteWord('a b'), '"a b"');
  t.is(quoteWord('say "x y"'), `'say "x y"'`);
  t.is(quoteWord(`"it's"`), String.raw`"\"it's\""`);
});
