/** The subjects of commits, as tools/commits.sh checks them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { testWith } from '../harness/programs.js';
import { tempFolder } from '../harness/temp.js';
import { ROOT } from './source-files.js';

const withGit = testWith('git');
const IDENTITY = ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-c', 'commit.gpgsign=false'];

const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder, ...IDENTITY, ...args], { encoding: 'utf8', stdio: 'pipe' });

/** A folder with the script, and with commits unless there are none. */
function history(t: ExecutionContext, ...subjects: readonly string[]): string {
  const folder = tempFolder(t);
  mkdirSync(join(folder, 'tools'));
  copyFileSync(join(ROOT, 'tools/commits.sh'), join(folder, 'tools/commits.sh'));
  if (subjects.length > 0) git(folder, 'init', '-q');
  for (const subject of subjects) git(folder, 'commit', '-q', '--allow-empty', '-m', subject);
  return folder;
}

function check(folder: string, ...args: readonly string[]): { readonly status: number | null; readonly stdout: string } {
  return spawnSync('bash', [join(folder, 'tools/commits.sh'), ...args], { encoding: 'utf8' });
}

const LONGEST = `net: ${'x'.repeat(67)}`;

withGit('git: subjects of up to 72 characters that begin with an area are right', (t) => {
  t.like(check(history(t, 'core/http, test: a fact', LONGEST)), { status: 0, stdout: '' });
});

withGit('git: every other subject is named, with its commit', (t) => {
  const folder = history(t, `${LONGEST}y`, 'net: right', 'no area');
  const { status, stdout } = check(folder);
  t.is(status, 1);
  t.regex(stdout, /^commit \w+: write "area: what": no area\ncommit \w+: 73 characters, at most 72: net: x+y\n$/);
  t.is(check(folder, 'HEAD~1').stdout.match(/^commit/gm)?.length, 1, 'only commits that are not in the base');
});

withGit('git: a shallow clone is checked as far as it goes, without a base that it lacks', (t) => {
  const origin = history(t, 'no area', 'net: right');
  const clone = join(tempFolder(t), 'clone');
  git(origin, 'clone', '-q', '--depth', '1', `file://${origin}`, clone);
  mkdirSync(join(clone, 'tools'));
  copyFileSync(join(ROOT, 'tools/commits.sh'), join(clone, 'tools/commits.sh'));
  t.like(check(clone), { status: 0, stdout: '' });
  t.like(check(clone, 'release'), { status: 0, stdout: '' });
  t.is(check(origin).status, 1);
});

test('without a history there is nothing to check', (t) => {
  t.like(check(history(t)), { status: 0, stdout: '' });
});

test('it is a step of the checks', (t) => {
  for (const file of ['package.json', 'tools/test.sh']) t.regex(readFileSync(join(ROOT, file), 'utf8'), /bash tools\/commits\.sh/);
});
