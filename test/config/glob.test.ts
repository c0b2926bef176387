import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'ava';
import { expandPattern, isPattern } from '../../core/config/glob.js';

const folder = mkdtempSync(join(tmpdir(), 'srv-glob-'));
test.after.always(() => rmSync(folder, { recursive: true }));

for (const path of [
  'a.conf',
  'b.conf',
  'c.txt',
  '.hidden.conf',
  'a-b.conf',
  'x/1.conf',
  'x/2.conf',
  'y/1.conf',
  'y/z/1.conf',
  '[a].conf',
  'a]b',
  'é.conf',
  '(a|b).conf',
]) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), '');
}

for (const [pattern, ...expected] of [
  ['*.conf', '(a|b).conf', '[a].conf', 'a-b.conf', 'a.conf', 'b.conf', 'é.conf'],
  ['.*.conf', '.hidden.conf'],
  ['?.conf', 'a.conf', 'b.conf', 'é.conf'],
  ['[ab].conf', 'a.conf', 'b.conf'],
  ['[!a].conf', 'b.conf', 'é.conf'],
  ['[^a].conf', 'b.conf', 'é.conf'],
  ['[a-b].conf', 'a.conf', 'b.conf'],
  ['a[]-]b*', 'a-b.conf', 'a]b'],
  ['*/1.conf', 'x/1.conf', 'y/1.conf'],
  ['*/?.conf', 'x/1.conf', 'x/2.conf', 'y/1.conf'],
  ['y/*/*', 'y/z/1.conf'],
  ['x/*', 'x/1.conf', 'x/2.conf'],
  [String.raw`\[a].con?`, '[a].conf'],
  ['(a|b).con*', '(a|b).conf'],
  ['{a,b}.con?'],
  ['nothing*'],
  ['none/*'],
  ['a.conf/*'],
  ['[z-a].conf'],
] as const) {
  test(pattern, (t) => {
    t.true(isPattern(pattern));
    const found = expected.map((name) => join(folder, name));
    t.deepEqual(expandPattern(pattern, folder), found);
    t.deepEqual(expandPattern(join(folder, pattern), '/nowhere'), found);
  });
}

test('a name without magic is no pattern', (t) => {
  t.false(isPattern('conf.d/{a}.conf'));
});
