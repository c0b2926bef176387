/** What a user gets with npm: the lock file, the package, and `npm start`. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { tempFolder } from '../harness/temp.js';
import { ROOT, readRoot } from '../docs/source-files.js';

interface LockedPackage {
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly resolved?: string;
}

test('the lock file has every package, those of other systems included, and names no host', (t) => {
  const { packages } = JSON.parse(readRoot('package-lock.json')) as { readonly packages: Readonly<Record<string, LockedPackage>> };
  const installed = new Set(Object.keys(packages).map((path) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)));
  const optional = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
  t.deepEqual(
    optional.filter((name) => !installed.has(name)),
    [],
  );
  t.deepEqual(
    Object.entries(packages).filter(([, entry]) => entry.resolved !== undefined),
    [],
  );
});

/** A copy of everything with empty files: npm compresses what it packs, also when it only says what that would be. */
function emptyCopy(t: ExecutionContext): string {
  const root = tempFolder(t);
  const skip = new Set(['.git', 'node_modules', 'compile-cache']);
  const rules = new Set(['package.json', '.gitignore', '.npmignore']);
  const copy = (from: string, to: string): void => {
    mkdirSync(to, { recursive: true });
    for (const entry of readdirSync(from, { withFileTypes: true })) {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (skip.has(entry.name)) continue;
      if (entry.isDirectory()) copy(source, target);
      else if (rules.has(entry.name)) copyFileSync(source, target);
      else if (entry.isFile()) writeFileSync(target, '');
    }
  };
  copy(ROOT, root);
  return root;
}

test('the package has what runs, the types and the docs, and nothing else', (t) => {
  const [pack] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: emptyCopy(t), encoding: 'utf8' }),
  ) as [{ readonly files: readonly { readonly path: string }[] }];
  const paths = pack.files.map(({ path }) => path);
  const folders = new Set(paths.map((path) => (path.startsWith('dist/') ? path.split('/', 2).join('/') : path.split('/', 1)[0])));
  t.deepEqual(
    folders,
    new Set([
      'ARCHITECTURE.md',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'conf',
      'dist/bundle',
      'dist/core',
      'dist/modules',
      'dist/testing',
      'docs',
      'package.json',
      'plugin-template',
    ]),
  );
  for (const path of [
    'dist/core/cli/srv.js',
    'dist/core/ctl/srvctl.js',
    'dist/core/contract/http.d.ts',
    'conf/srv.conf',
    'conf/mime.types',
  ])
    t.true(paths.includes(path), path);
  t.deepEqual(
    paths.filter((path) => path.startsWith('dist/bundle/cache') || /\.(?:key|pem|log|db|tsbuildinfo)$/.test(path)),
    [],
  );
});

/** Says how it was called; a build leaves what the real one leaves. */
const PROGRAM = `#!/bin/sh
echo "\${0##*/} $*"
[ "$*" != "run build" ] || bash tools/sources.sh >dist/.sources
`;

/** A copy of what `npm start` looks at, with an npm and a Node.js that only say how they were called. */
function smallInstallation(t: ExecutionContext): {
  readonly start: (...args: string[]) => string;
  readonly change: (path: string) => void;
} {
  const copied = ['tools/start.sh', 'tools/sources.sh', 'package.json', 'package-lock.json', 'tsconfig.json'];
  const programs = ['bin/npm', 'node_modules/.bin/node'];
  const root = tempFolder(t, {
    ...Object.fromEntries(copied.map((path) => [path, readRoot(path)])),
    ...Object.fromEntries(['core/x.ts', 'modules/x.ts', 'testing/x.ts', 'dist/x.js'].map((path) => [path, ''])),
    ...Object.fromEntries(programs.map((path) => [path, PROGRAM])),
  });
  for (const path of programs) chmodSync(join(root, path), 0o755);
  const env = { ...process.env, PATH: `${join(root, 'bin')}:${process.env['PATH']}` };
  return {
    start: (...args) => execFileSync('bash', [join(root, 'tools/start.sh'), ...args], { env, encoding: 'utf8' }),
    change: (path) => appendFileSync(join(root, path), '\n'),
  };
}

test('npm start installs and builds only what has changed', (t) => {
  const { start, change } = smallInstallation(t);
  const [install, build, run] = ['npm install --no-audit --no-fund\n', 'npm run build\n', 'node dist/core/cli/srv.js'];
  t.is(start(), `${install}${build}${run}\n`);
  t.is(start('-g', 'daemon off;'), `${run} -g daemon off;\n`);
  change('core/x.ts');
  t.is(start(), `${build}${run}\n`);
  change('package-lock.json');
  t.is(start(), `${install}${run}\n`);
});
