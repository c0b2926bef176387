/** The package `srv-module-types`: a module is built with it where srv is not installed. */
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import { CONTRACT_VERSION } from '../../core/kernel/contract-version.js';
import { tempFolder, writeInto } from '../harness/temp.js';
import { ROOT, TEMPLATE } from './readme.js';

const run = promisify(execFile);
const TSCONFIG = {
  compilerOptions: {
    target: 'es2024',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    typeRoots: ['node_modules/@types'],
    paths: { 'srv/module/*': ['./node_modules/srv-module-types/*'] },
  },
  include: ['modules'],
};

test('the package has what the module of the template needs, and nothing of srv', async (t) => {
  const folder = tempFolder(t, { 'package.json': '{ "type": "module" }', 'tsconfig.json': JSON.stringify(TSCONFIG) });
  const name = 'modules/acme_http_server_timing_module.mts';
  const source = readFileSync(join(TEMPLATE, name), 'utf8');
  writeInto(folder, name, source);
  mkdirSync(join(folder, 'node_modules'));
  for (const used of ['@types', 'typebox', 'undici-types'])
    symlinkSync(join(ROOT, 'node_modules', used), join(folder, 'node_modules', used));
  const types = join(folder, 'node_modules/srv-module-types');
  await run(process.execPath, [join(import.meta.dirname, '../../tools/module-types.js'), types]);
  await t.notThrowsAsync(run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]));
  writeInto(folder, name, source.replace("default: 'off'", 'default: 5'));
  const failure = await t.throwsAsync<Error & { stdout: string }>(run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]));
  t.regex(failure?.stdout ?? '', /Type 'number' is not assignable to type 'string'/);
  const { version, dependencies } = JSON.parse(readFileSync(join(types, 'package.json'), 'utf8')) as {
    version: string;
    dependencies: object;
  };
  t.is(version, `${CONTRACT_VERSION}.0`);
  t.deepEqual(Object.keys(dependencies), ['@types/node', 'typebox']);
});
