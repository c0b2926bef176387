/** What every shipped module keeps to. */
import test from 'ava';
import { findInstallation } from '../../core/kernel/installation.js';
import { importModule, shippedModule } from '../../core/kernel/module-file.js';
import { importsOf, sourceFiles, type Import } from './source-files.js';

const installation = findInstallation();

const MODULE = /^modules\/\w+\/srv_\w+_module\.ts$/;
/** The feature that a file belongs to: anything in `modules/<feature>/`. */
const featureOf = (path: string): string => /^modules\/(\w+)\//.exec(path)?.[1] ?? '';

function isAllowed(path: string, { target, relative }: Import): boolean {
  if (!relative) return !target.startsWith('srv/');
  return /^core\/(?:contract|toolkit)\//.test(target) || (featureOf(target) === featureOf(path) && !MODULE.test(target));
}

test('modules import the contract, packages and the files of their feature, no other module', (t) => {
  const strange = sourceFiles('modules').flatMap((file) =>
    importsOf(file)
      .filter((imported) => !isAllowed(file.path, imported))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  t.deepEqual(strange, []);
});

test('the folder of a feature has a module', (t) => {
  const paths = sourceFiles('modules').map(({ path }) => path);
  const features = new Set(paths.filter((path) => MODULE.test(path)).map(featureOf));
  t.deepEqual(
    paths.filter((path) => !features.has(featureOf(path))),
    [],
  );
});

for (const name of installation.modules.keys()) {
  test(`${name} is called like its file, and each of its directives says what it is for`, async (t) => {
    const { declaration } = await importModule({ file: shippedModule(installation, name), version: 0 }, installation, 'data');
    const { manifest } = declaration;
    t.is(manifest.name, name);
    const silent = Object.entries(manifest.directives ?? {}).filter(([, { doc = '' }]) => !/^[A-Z][^]*\.$/.test(doc));
    t.deepEqual(
      silent.map(([directive]) => directive),
      [],
      'a doc is a sentence',
    );
  });
}
