/** Paths of files in the pages about the code. */
import { globSync } from 'node:fs';
import test from 'ava';
import { readRoot, ROOT } from './source-files.js';

const PAGES = ['ARCHITECTURE.md', 'CONTRIBUTING.md', ...globSync('docs/decisions/*.md', { cwd: ROOT })];
const PATH = /(?<![\w./<-])(?:core|modules|testing|test|tools|conf|plugin-template)\/[\w.*/-]*[\w/]/g;
/** A name to be chosen by the reader: `modules/x/srv_x_module.ts`. */
const PLACEHOLDER = /_x_|\/x(?:\/|$)/;

function missingPaths(text: string): readonly string[] {
  const paths = [...text.matchAll(PATH)]
    // `test/<area>/…`
    .filter(({ 0: path, index }) => !PLACEHOLDER.test(path) && !/^[<…]/.test(text.slice(index + path.length)))
    .map(([path]) => path);
  return paths.filter((path) => globSync([path, `${path}.ts`], { cwd: ROOT }).length === 0);
}

for (const page of PAGES) {
  test(`the files that ${page} names exist`, (t) => {
    t.deepEqual(missingPaths(readRoot(page)), []);
  });
}

test('a file that is not there is found', (t) => {
  t.deepEqual(missingPaths('In `core/net/timers.ts`, core/net/no-timers and `test/<area>/x.test.ts`.'), ['core/net/no-timers']);
});
