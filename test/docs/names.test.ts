/** A name of an exported type means one thing in the whole project, so that an import is found by its name. */
import test from 'ava';
import { sourceFiles } from './source-files.js';

const DECLARATION = /^export (?:declare )?(?:abstract )?(?:class|interface|type|enum|const enum) (\w+)/gm;

test('no two exported types have the same name', (t) => {
  const places = new Map<string, string[]>();
  for (const { path, text } of sourceFiles('core', 'modules', 'testing')) {
    for (const [, name = ''] of text.matchAll(DECLARATION)) places.set(name, [...(places.get(name) ?? []), path]);
  }
  t.true(places.size > 1000, `${places.size} types found`);
  const twice = [...places].filter(([, files]) => files.length > 1);
  t.deepEqual(
    twice.map(([name, files]) => `${name}: ${files.join(', ')}`),
    [],
  );
});
