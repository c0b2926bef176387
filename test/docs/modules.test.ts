/** What every shipped module keeps to. */
import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import test from 'ava';
import { findInstallation } from '../../core/kernel/installation.js';
import { importModule, shippedModule } from '../../core/kernel/module-file.js';
import { importsOf, ROOT, sourceFiles, type Import } from './source-files.js';

const NAMES = readdirSync(join(ROOT, 'modules'))
  .filter((file) => file.endsWith('.ts'))
  .map((file) => basename(file, '.ts'));

/** The module a file belongs to: `modules/srv_x_module.ts`, or anything in `modules/srv_x_module/`. */
const ownerOf = (path: string): string => /^modules\/(\w+)/.exec(path)?.[1] ?? '';

function isAllowed(path: string, { target, relative }: Import): boolean {
  if (!relative) return !target.startsWith('srv/');
  return target.startsWith('core/module/') || target.startsWith(`modules/${ownerOf(path)}/`);
}

test('modules import the contract, packages and their own files, nothing else', (t) => {
  const strange = sourceFiles('modules').flatMap((file) =>
    importsOf(file)
      .filter((imported) => !isAllowed(file.path, imported))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  t.deepEqual(strange, []);
});

test('the folder of a module has the module beside it', (t) => {
  const owners = new Set(sourceFiles('modules').map(({ path }) => ownerOf(path)));
  t.deepEqual(
    [...owners].filter((owner) => !NAMES.includes(owner)),
    [],
  );
});

for (const name of NAMES) {
  test(`${name} is called like its file, and each of its directives says what it is for`, async (t) => {
    const installation = findInstallation();
    const { declaration } = await importModule(shippedModule(installation, name), installation, 'data');
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
