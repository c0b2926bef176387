/** The package `srv-module-types`: a module is built with it where srv is not installed. */
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { CONTRACT_VERSION } from '../../core/kernel/contract-version.js';
import { importsOf, sourceFiles } from '../docs/source-files.js';
import { check } from '../harness/check.js';
import { plugin } from '../harness/plugins.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { ROOT, TEMPLATE } from './readme.js';

const run = promisify(execFile);
const WRITER = join(import.meta.dirname, '../../tools/module-types.js');
const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    typeRoots: ['node_modules/@types'],
    paths: {
      'srv/module/*': ['./node_modules/srv-module-types/contract/*'],
      'srv/toolkit/*': ['./node_modules/srv-module-types/toolkit/*'],
    },
  },
  include: ['modules', 'node_modules/srv-module-types/**/*.d.ts'],
};

/** What shipped modules and the pages for authors import, and what that imports, as other modules name it: `srv/module/http.js`. */
function imported(): readonly string[] {
  const files = new Map(sourceFiles('core', 'modules').map((file) => [file.path, file]));
  const names = new Set<string>();
  const visit = (path: string): void => {
    const name = path.replace('core/contract/', 'srv/module/').replace('core/toolkit/', 'srv/toolkit/').replace(/\.ts$/, '.js');
    const file = files.get(path);
    if (file === undefined || names.has(name)) return;
    if (!path.startsWith('modules/')) names.add(name);
    for (const { target, relative } of importsOf(file)) if (relative && target.startsWith('core/')) visit(target);
  };
  for (const path of files.keys()) if (path.startsWith('modules/')) visit(path);
  for (const page of ['docs/modules.md', 'docs/module-recipes.md'])
    for (const [, file = ''] of readFileSync(join(ROOT, page), 'utf8').matchAll(/^import .* from 'srv\/module\/(.+)\.js';$/gm))
      visit(`core/contract/${file}.ts`);
  return [...names].toSorted();
}

/** What the loader offers, as it says to a module that names something else. */
async function served(t: ExecutionContext): Promise<readonly string[]> {
  const parts = ['srv/module/', 'srv/toolkit/'].map(async (part) => {
    const files = { 'modules/acme.mjs': plugin('acme', { imports: `import '${part}nope.js';` }) };
    const { stderr } = await check(t, 'load_module modules/acme.mjs;\nevents {}\n', files);
    const [, list = ''] = /which has: (.*?) in /.exec(stderr) ?? [];
    return list.split(', ').map((file) => part + file);
  });
  return (await Promise.all(parts)).flat().toSorted();
}

test('what shipped modules import is what every module is served, and what the package has types of', async (t) => {
  const names = await served(t);
  const used = new Set(imported());
  t.deepEqual(
    [...used].filter((name) => !names.includes(name)),
    [],
    'shipped modules have nothing that others lack',
  );
  const page = readFileSync(join(ROOT, 'docs/modules.md'), 'utf8');
  t.deepEqual(
    names.filter((name) => !used.has(name) && !page.includes(`\`${basename(name)}\``)),
    [],
    'a file that no shipped module uses is made for others',
  );
  const types = tempFolder(t);
  await run(process.execPath, [WRITER, types]);
  const typed = globSync('{contract,toolkit}/**/*.d.ts', { cwd: types }).map((file) => `srv/${file}`);
  t.deepEqual(typed.map((file) => file.replace('srv/contract/', 'srv/module/').replace(/\.d\.ts$/, '.js')).toSorted(), names);
});

test('every file of the package compiles strictly and alone, and so does the module of the template', async (t) => {
  const folder = tempFolder(t, { 'package.json': '{ "type": "module" }', 'tsconfig.json': JSON.stringify(TSCONFIG) });
  const name = 'modules/acme_http_server_timing_module.mts';
  const wrong = 'modules/acme_http_wrong_module.mts';
  const source = readFileSync(join(TEMPLATE, name), 'utf8');
  writeInto(folder, name, source);
  writeInto(folder, wrong, source.replace("default: 'off'", 'default: 5'));
  mkdirSync(join(folder, 'node_modules'));
  for (const used of ['@types', 'typebox', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', used), join(folder, 'node_modules', used));
  const types = join(folder, 'node_modules/srv-module-types');
  await run(process.execPath, [WRITER, types]);
  const compile = run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder, '--checkers', '1']);
  const failure = await t.throwsAsync<Error & { stdout: string }>(compile);
  const stdout = failure?.stdout ?? '';
  t.regex(stdout, /Type 'number' is not assignable to type 'string'/);
  const errors = stdout.split('\n').filter((line) => line.includes('error TS'));
  t.deepEqual(
    errors.filter((line) => !line.includes(`${wrong}(`)),
    [],
    'nothing else is wrong',
  );
  const { version, dependencies } = JSON.parse(readFileSync(join(types, 'package.json'), 'utf8')) as {
    version: string;
    dependencies: object;
  };
  t.is(version, `${CONTRACT_VERSION}.0`);
  t.deepEqual(Object.keys(dependencies), ['@types/node', 'typebox']);
});
