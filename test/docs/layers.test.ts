/** ARCHITECTURE.md, "Layers": imports point downwards only. */
import test from 'ava';
import { importsOf, readRoot, sourceFiles, type Import, type SourceFile } from './source-files.js';

/** The rows of the drawing, from the top: `[['core/cli', 'core/master', …], ['core/kernel'], …]`. */
function layers(): readonly (readonly string[])[] {
  const [, section = ''] = readRoot('ARCHITECTURE.md').split('\n## Layers\n');
  const drawing = section.split('\n').filter((line) => line.startsWith('    core/'));
  return drawing.map((line) => line.match(/\bcore\/\w+/g) ?? []);
}

const layerOf = (path: string): string => path.split('/', 2).join('/');
const folderOf = (path: string): string => path.split('/', 3).join('/');

const depth = new Map(layers().flatMap((row, index) => row.map((layer) => [layer, index])));

/** The folders of a traffic engine in its drawing, from the top. Files beside them join them: they are above all. */
function foldersOf(engine: 'HTTP' | 'Stream'): readonly string[] {
  const [, section = ''] = readRoot('ARCHITECTURE.md').split(`\n## ${engine}\n`);
  const [drawing = ''] = section.split('\n## ', 1);
  return Array.from(drawing.matchAll(/^ {4}([a-z]+)\/ /gm), ([, folder = '']) => `core/${engine.toLowerCase()}/${folder}`);
}

const folderDepth = new Map([...foldersOf('HTTP'), ...foldersOf('Stream')].map((folder, index) => [folder, index]));

/** True for an import from above, or from beside: layers in one row do not know each other. */
function pointsUpwards(file: SourceFile, { target, relative }: Import): boolean {
  if (!relative || !target.startsWith('core/')) return false;
  const [own, other] = [layerOf(file.path), layerOf(target)];
  if (own !== other) return (depth.get(other) ?? Infinity) <= (depth.get(own) ?? Infinity);
  const [from, to] = [folderOf(file.path), folderOf(target)];
  return from !== to && (folderDepth.get(to) ?? -1) < (folderDepth.get(from) ?? -1);
}

const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].toSorted();

test('every folder of the core is in the drawing, and every folder of an engine in that of the engine', (t) => {
  t.deepEqual(sorted(sourceFiles('core').map(({ path }) => layerOf(path))), sorted(depth.keys()));
  const folders = sourceFiles('core/http', 'core/stream').map(({ path }) => folderOf(path));
  t.deepEqual(sorted(folders.filter((folder) => !folder.endsWith('.ts'))), sorted(folderDepth.keys()));
});

test('no file of the core imports from a layer above or beside its own, types as well', (t) => {
  const upwards = sourceFiles('core').flatMap((file) =>
    importsOf(file)
      .filter((imported) => pointsUpwards(file, imported))
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

/** Names from which there is a way to each other. */
function groupsIn(graph: Graph): readonly (readonly string[])[] {
  const reached = new Map(Array.from(graph.keys(), (name) => [name, reachedFrom(graph, name)]));
  const groups = Array.from(reached, ([name, others]) => [...others].filter((other) => reached.get(other)?.has(name) === true).toSorted());
  return [...new Map(groups.filter(({ length }) => length > 1).map((group) => [group[0], group])).values()];
}

function reachedFrom(graph: Graph, start: string): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [start];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    for (const next of graph.get(name) ?? []) {
      if (found.has(next)) continue;
      found.add(next);
      waiting.push(next);
    }
  }
  return found;
}

test('a group is found', (t) => {
  const edges = { a: ['b'], b: ['c', 'd'], c: ['a'], d: ['e'], e: [] };
  t.deepEqual(groupsIn(new Map(Object.entries(edges).map(([name, next]) => [name, new Set(next)]))), [['a', 'b', 'c']]);
});

test('no more than five files know each other in a circle, types as well', (t) => {
  const groups = ['core', 'modules'].flatMap((folder) =>
    groupsIn(
      graphOf(
        folder,
        (path) => path,
        () => true,
      ),
    ),
  );
  t.deepEqual(
    groups.filter((group) => group.length > 5),
    [],
  );
});
