/** What a worker loads is loaded once a thread: time of every start and replacement, and memory. */
import test from 'ava';
import { STANDARD_MODULES } from '../../core/kernel/standard-modules.js';
import { importsOf, sourceFiles, type SourceFile } from './source-files.js';

/** Packages and parts of Node.js that only the master or a helper process needs, or TLS. */
const NOT_IN_WORKERS = [
  'typebox',
  'typebox/compile',
  'mqtt',
  'aedes',
  'undici',
  'node:sqlite',
  'node:tls',
  'node:crypto',
  'node:http',
  'node:zlib',
];

const files = new Map(sourceFiles('core', 'modules').map((file) => [file.path, file]));

/** Which file imports each package, among those that these files import, directly or not. */
function packagesOf(roots: readonly string[]): ReadonlyMap<string, string> {
  const packages = new Map<string, string>();
  const seen = new Set<string>();
  const visit = (file: SourceFile | undefined): void => {
    if (!file || seen.has(file.path)) return;
    seen.add(file.path);
    for (const { target, relative, typesOnly, lazy } of importsOf(file)) {
      if (typesOnly || lazy) continue;
      if (relative) visit(files.get(target));
      else packages.set(target, file.path);
    }
  };
  for (const root of roots) visit(files.get(root));
  return packages;
}

/** The file of a module. */
const sourceOf = (name: string): string => [...files.keys()].find((path) => path.endsWith(`/${name}.ts`)) ?? name;

test('a worker with the standard modules and dynamic upstreams loads nothing of the control plane, and TLS only for TLS', (t) => {
  const modules = [...STANDARD_MODULES, 'srv_http_upstream_member_module', 'srv_http_multi_header_module'];
  const loaded = packagesOf(['core/worker/serve.ts', ...modules.map(sourceOf)]);
  t.true(loaded.has('node:net'));
  for (const name of NOT_IN_WORKERS) t.is(loaded.get(name), undefined, `${loaded.get(name)} imports ${name}`);
});
