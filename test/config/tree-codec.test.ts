import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { parseFile } from '../../core/config/parser.js';
import { ConfigTree, IdSource } from '../../core/config/tree.js';
import { decodeTree, encodeTree } from '../../core/config/tree-codec.js';
import { tempFolder } from '../harness/temp.js';

test('a tree arrives as it was sent: words, quotes, keys, places, files that include others', (t) => {
  const folder = tempFolder(t);
  const files = {
    'a.conf': `events { } http { include b.conf; include b.conf; map $a $b { default 'it''s'; "x y" ""; } server { return 200 'a"b'; } }`,
    'b.conf': 'upstream ü { include c.conf; }',
    'c.conf': 'server 10.0.0.1 weight=2;\n  server "10.0.0.2";',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const { directives } = parseFile(join(folder, 'a.conf'), { ids: new IdSource() });
  const lines = Array.from({ length: 7000 }, (_, at) => {
    const word = { text: `10.1.${at >> 8}.${at & 255}`, line: at, column: 3 };
    return { id: 2 ** 40 + at, name: 'server', args: [word], source: { file: '(api 1.0)', line: 0, column: 0 }, key: at };
  });
  const data = [...directives, { id: 2 ** 41, name: 'pool', args: [], source: { file: 'x', line: 1, column: 1 }, block: lines }];
  const tree = ConfigTree.fromData(data);
  const encoded = encodeTree(tree.root);
  t.true(isDeepStrictEqual(decodeTree(structuredClone(encoded)), tree.toData()));
  t.true(encoded.numbers.buffer instanceof SharedArrayBuffer);
  t.deepEqual(decodeTree(encodeTree(ConfigTree.empty.root)), []);
});
