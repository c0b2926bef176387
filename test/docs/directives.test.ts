import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { allModules } from '../../tools/docs/all-modules.js';
import { directivePages } from '../../tools/docs/directive-pages.js';
import { readRoot, ROOT } from './source-files.js';

const pages = directivePages(await allModules());
const OUT_OF_DATE = 'out of date: node dist/tools/docs/directives.js --write';

test('docs/directives has a page for every module, and no other', (t) => {
  t.deepEqual(readdirSync(join(ROOT, 'docs/directives')).toSorted(), [...pages.keys()].toSorted(), OUT_OF_DATE);
});

for (const [file, text] of pages) {
  test(`docs/directives/${file} says what the specs say`, (t) => {
    t.true(readRoot(`docs/directives/${file}`) === text, OUT_OF_DATE);
  });
}
