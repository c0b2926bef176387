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

/** Each name with the names it imports. */
type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** A way from a name back to it, undefined: there is none anywhere. */
function cycleIn(graph: Graph): readonly string[] | undefined {
  const finished = new Set<string>();
  const search = (name: string, way: readonly string[]): readonly string[] | undefined => {
    const before = way.indexOf(name);
    if (before >= 0) return [...way.slice(before), name];
    if (finished.has(name)) return undefined;
    for (const next of graph.get(name) ?? []) {
      const cycle = search(next, [...way, name]);
      if (cycle !== undefined) return cycle;
    }
    finished.add(name);
    return undefined;
  };
  for (const name of graph.keys()) {
    const cycle = search(name, []);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

/** @param nodeOf what a file counts as; undefined: it is not looked at */
function graphOf(folder: string, nodeOf: (path: string) => string | undefined, counts: (imported: Import) => boolean): Graph {
  const graph = new Map<string, Set<string>>();
  for (const file of sourceFiles(folder)) {
    const from = nodeOf(file.path);
    if (from === undefined) continue;
    const targets = graph.get(from) ?? new Set();
    graph.set(from, targets);
    for (const imported of importsOf(file)) {
      const to = imported.relative && counts(imported) ? nodeOf(imported.target) : undefined;
      if (to !== undefined && to !== from) targets.add(to);
    }
  }
  return graph;
}

test('a cycle is found', (t) => {
  const graph = new Map([
    ['a', new Set(['b', 'c'])],
    ['b', new Set<string>()],
    ['c', new Set(['d'])],
    ['d', new Set(['b', 'c'])],
  ]);
  t.deepEqual(cycleIn(graph), ['c', 'd', 'c']);
  graph.set('d', new Set(['b']));
  t.is(cycleIn(graph), undefined);
});

test('no files of the core import values from each other in a circle', (t) => {
  t.is(
    cycleIn(
      graphOf(
        'core',
        (path) => path,
        ({ typesOnly }) => !typesOnly,
      ),
    ),
    undefined,
  );
});

/** `core/http/site`; `core/http/` for the files that join the folders. */
const folderOf = (path: string): string | undefined => /^core\/(?:http|stream)\/(?:[^/]+(?=\/)|)/.exec(path)?.[0];

test('the folders of each traffic engine import each other one way, types as well', (t) => {
  t.is(cycleIn(graphOf('core/http', folderOf, () => true)), undefined);
  t.is(cycleIn(graphOf('core/stream', folderOf, () => true)), undefined);
});

test('the traffic engines know nothing of each other', (t) => {
  const strange = [...sourceFiles('core/http'), ...sourceFiles('core/stream')].flatMap((file) =>
    importsOf(file)
      .filter(({ target }) => /^core\/(?:http|stream)\//.test(target) && layerOf(target) !== layerOf(file.path))
      .map(({ target }) => `${file.path} imports ${target}`),
  );
  t.deepEqual(strange, []);
});
