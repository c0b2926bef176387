/** House rules that a simple look at the text can check. */
import { isBuiltin } from 'node:module';
import test from 'ava';
import { importsOf, readRoot, sourceFiles, type SourceFile } from './source-files.js';

const MUTABLE = /^(?:export )?(?:let|var) (\w+)/gm;
const CONSTANT = /^(?:export )?const (\w+)/gm;

/** Names at the top level of a file that change: variables, and constants that something is put into. */
function mutableState({ path, text }: SourceFile): readonly string[] {
  const variables = [...text.matchAll(MUTABLE)].map(([, name = '']) => name);
  const constants = [...text.matchAll(CONSTANT)].map(([, name = '']) => name);
  const filled = constants.filter((name) =>
    new RegExp(`\\b${name}\\.(?:set|add|delete|clear|push|pop|shift|unshift|splice)\\(`).test(text),
  );
  return [...variables, ...filled].map((name) => `${path}: ${name}`);
}

/** `@scope/name` or `name` of what a bare import names. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

test('core and modules keep nothing that changes at the level of a file', (t) => {
  t.deepEqual(sourceFiles('core', 'modules').flatMap(mutableState), []);
});

test('what runs imports only packages that are dependencies', (t) => {
  const { dependencies } = JSON.parse(readRoot('package.json')) as { dependencies: Record<string, string> };
  const missing = sourceFiles('core', 'modules').flatMap((file) =>
    importsOf(file)
      .filter(({ target, relative }) => !relative && !isBuiltin(target) && !(packageOf(target) in dependencies))
      .map(({ target }) => `${file.path}: ${target}`),
  );
  t.deepEqual(missing, []);
});

test('no file is a room for two things', (t) => {
  const lengths = sourceFiles('core', 'modules', 'test', 'tools', 'plugin-template').map(({ path, text }) => ({
    path,
    lines: text.split('\n').length - 1,
  }));
  for (const { path, lines } of lengths.filter(({ lines }) => lines > 200)) t.log(`${path} has ${lines} lines: could it be two files?`);
  t.deepEqual(
    lengths.filter(({ lines }) => lines > 500),
    [],
  );
});

test('a clock that has to be refreshed is made in one place, for threads whose work begins with it', (t) => {
  const users = sourceFiles('core', 'modules').filter(({ text }) => /\bnew CoarseClock\b/.test(text));
  t.deepEqual(
    users.map(({ path }) => path),
    ['core/kernel/assembly.ts'],
  );
});

test('the lock file names no registry', (t) => {
  t.notRegex(readRoot('package-lock.json'), /"resolved"/);
});
