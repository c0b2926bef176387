import test from 'ava';
import { allModules } from '../../tools/docs/all-modules.js';
import { directivesPage } from '../../tools/docs/directives-page.js';
import { readRoot } from './source-files.js';

test('docs/directives.md says what the specs say', async (t) => {
  const page = directivesPage(await allModules());
  t.true(readRoot('docs/directives.md') === page, 'it is out of date: node dist/tools/docs/directives.js --write');
});
