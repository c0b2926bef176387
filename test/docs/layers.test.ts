/** ARCHITECTURE.md, "Layers": imports point downwards only. */
import test from 'ava';
import { importsOf, readRoot, sourceFiles, type Import, type SourceFile } from './source-files.js';

/** What layers below the kernel implement for it: they know its form, and nothing else of the kernel. */
const FOLLOWER = 'core/kernel/follower.ts';

/** The rows of the drawing, from the top: `[['core/cli', 'core/master', …], ['core/kernel'], …]`. */
function layers(): readonly (readonly string[])[] {
  const [, section = ''] = readRoot('ARCHITECTURE.md').split('\n## Layers\n');
  const drawing = section.split('\n').filter((line) => line.startsWith('    core/'));
  return drawing.map((line) => line.match(/\bcore\/\w+/g) ?? []);
}

const layerOf = (path: string): string => path.split('/', 2).join('/');

function pointsUpwards(file: SourceFile, { target, relative, typesOnly }: Import, depth: ReadonlyMap<string, number>): boolean {
  if (!relative || !target.startsWith('core/') || (target === FOLLOWER && typesOnly)) return false;
  return (depth.get(layerOf(target)) ?? Infinity) < (depth.get(layerOf(file.path)) ?? Infinity);
}

const depth = new Map(layers().flatMap((row, index) => row.map((layer) => [layer, index])));

test('every folder of the core is in the drawing', (t) => {
  const folders = new Set(sourceFiles('core').map(({ path }) => layerOf(path)));
  t.deepEqual(
    [...folders].filter((folder) => !depth.has(folder)),
    [],
  );
});

test('no file of the core imports from a layer above its own', (t) => {
  const upwards = sourceFiles('core').flatMap((file) =>
    importsOf(file)
      .filter((imported) => pointsUpwards(file, imported, depth))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  t.deepEqual(upwards, []);
});

test('the core imports no module, test or tool', (t) => {
  const outside = sourceFiles('core').flatMap((file) =>
    importsOf(file)
      .filter(({ target, relative }) => relative && !target.startsWith('core/'))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  t.deepEqual(outside, []);
});
