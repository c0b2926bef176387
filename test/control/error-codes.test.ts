import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { ERROR_CODES, type ErrorCode } from '../../core/api/error-codes.js';
import { findInstallation } from '../../core/kernel/installation.js';

const root = findInstallation().root;
const CATALOGUE = Object.entries(ERROR_CODES) as [string, ErrorCode][];

/** Every `ApiError(status, 'Code'`, `AccessError(status, 'Code'` and `status: …, code: …` of the sources. */
function used(): Map<string, Set<number>> {
  const found = new Map<string, Set<number>>();
  for (const folder of ['core', 'modules']) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts') || file.endsWith('.d.ts')) continue;
      const text = readFileSync(join(root, folder, file), 'utf8');
      for (const [, status, code = ''] of text.matchAll(/(?:(?:Api|Access)Error\(\s*|status: )(\d{3}),\s*(?:code: )?'(\w+)'/g)) {
        found.set(code, (found.get(code) ?? new Set()).add(Number(status)));
      }
    }
  }
  return found;
}

test('every code in the sources is in the catalogue with its status, and every code of the catalogue is used', (t) => {
  const sources = used();
  t.deepEqual([...sources.keys()].sort(), CATALOGUE.map(([code]) => code).sort());
  for (const [code, { status, timeoutStatus, fileStatus }] of CATALOGUE) {
    const expected = [status, fileStatus, timeoutStatus].filter((one) => one !== undefined);
    t.deepEqual(
      [...(sources.get(code) ?? [])].sort((one, other) => one - other),
      expected,
      code,
    );
  }
});

test('docs/api.md has the same table', (t) => {
  const documented = Array.from(
    readFileSync(join(root, 'docs/api.md'), 'utf8').matchAll(/^\| `(\w+)` \| ([\d, ]+) \| (.+?) \| (.+?) \|$/gm),
    ([, ...columns]) => columns,
  );
  const rows = CATALOGUE.map(([code, { status, timeoutStatus, fileStatus, meaning, remedy }]) => [
    code,
    [status, fileStatus, timeoutStatus].filter((one) => one !== undefined).join(', '),
    meaning,
    remedy,
  ]);
  t.deepEqual(documented, rows);
});

test('every code says what to do', (t) => {
  for (const [code, { meaning, remedy }] of CATALOGUE) t.true(meaning.endsWith('.') && remedy.endsWith('.'), code);
});
