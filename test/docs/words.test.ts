import { execFile } from 'node:child_process';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { tempFolder } from '../harness/temp.js';
import { ROOT } from './source-files.js';

interface Run {
  readonly code: number;
  readonly output: string;
}

/** A project with these files, in which the check is run. */
function project(t: ExecutionContext, files: Readonly<Record<string, string>>): (...args: readonly string[]) => Promise<Run> {
  const folder = tempFolder(t, { 'tools/words/.keep': '', ...files });
  return async (...args) =>
    new Promise((resolve) => {
      execFile(process.execPath, [join(ROOT, 'dist/tools/words/words.js'), ...args], { cwd: folder }, (error, stdout) => {
        resolve({ code: error === null ? 0 : 1, output: stdout });
      });
    });
}

test('a rejected word in a page fails with its line and what to write instead', async (t) => {
  const { code, output } = await project(t, { 'docs/a.md': '# A\n\nA change comes\ninto\nforce at once.\n' })();
  t.is(code, 1);
  t.regex(output, /^docs\/a\.md:4: "into force": active, current/);
});

for (const [what, file, text] of [
  ['a message', 'core/a.ts', "throw new Error('an error nobody expected here');\n"],
  ['a description', 'modules/a.ts', "const a = { doc: 'Tells clients of it.' };\n"],
  ['a comment', 'core/a.ts', '/** Passes it to whoever\n * asks. */\n'],
  ['a doc comment that begins with a relative clause', 'core/a.ts', '/** What reading has come to. */\n'],
  ['a sentence of that kind', 'docs/a.md', 'It waits. What is not empty stays.\n'],
] as const) {
  test(`${what} is checked`, async (t) => {
    t.is((await project(t, { [file]: text })()).code, 1);
  });
}

test('code, links and uses that are meant are not reported', async (t) => {
  const check = project(t, {
    'README.md': 'srv behind a proxy runs as `nobody`: [page](behind.md). connect() failed: connection refused.\n\n    told: code\n',
    'core/a.ts': "const told = behind(nobody); const key = 'nobody';\n",
  });
  t.deepEqual(await check(), { code: 0, output: 'rejected words: 0 in texts of the program, 0 elsewhere, of which 0 are known\n' });
});

test('known words stay allowed where they are, and get fewer, never more', async (t) => {
  const known = { 'core/a.ts': '// told, told\n', 'core/b.ts': '// told\n' };
  const left = JSON.stringify({ 'core/a.ts': 2, 'core/b.ts': 1 });
  t.is((await project(t, { ...known, 'tools/words/left.json': left })()).code, 0);
  const moved = project(t, { 'core/c.ts': '// told, told\n', 'tools/words/left.json': left });
  t.is((await moved()).code, 1);
  t.is((await moved('--write')).code, 0);
  t.is((await moved()).code, 0);
  const more = project(t, { ...known, 'core/c.ts': '// told\n', 'tools/words/left.json': left });
  t.is((await more('--write')).code, 1);
});
